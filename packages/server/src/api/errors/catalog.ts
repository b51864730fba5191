import { ApiError } from './api-error.js';
import { builtinHint } from './builtin-templates.js';

const PLACEMENT = 'Failed to place sandbox: ';

const error = (
  status: number,
  message: string,
  more: { errorCode?: string; retryAfterSeconds?: number; cause?: unknown } = {},
) => new ApiError({ status, message, ...more });

/**
 * Every failure that the platform API can answer with. Handlers throw these; nothing else writes an error body.
 * Texts that the specification leaves open were chosen to say what happened and what to do.
 */
export const errors = {
  // The request itself
  validation: (detail: string) => error(400, `validation error: ${detail}`),
  /** The rest of the body is not read, so the connection ends. */
  unboundedBody: (detail: string) =>
    new ApiError({
      status: 400,
      message: `validation error: ${detail}`,
      headers: { Connection: 'close' },
    }),
  badRequest: (message: string) => error(400, message),
  notFound: () => error(404, 'no such route'),
  methodNotAllowed: (allow: string[]) =>
    new ApiError({
      status: 405,
      message: `this route answers to ${allow.join(', ')} only`,
      headers: { Allow: allow.join(', ') },
    }),
  bodyTooLarge: (maxBytes: number) => error(413, `the request body is larger than ${maxBytes} bytes`),
  requestTooSlow: (seconds: number) =>
    error(408, `the request did not arrive whole within ${seconds} seconds`),
  requestTimeout: () => error(504, 'the request ran out of time'),
  internal: (cause?: unknown) => error(500, 'internal server error', { cause }),
  /** Tests only: an answer that the document does not list. */
  undocumented: (operationId: string, status: number, cause: unknown) =>
    error(500, `${operationId} answered ${status}, which the document does not list`, { cause }),
  databaseUnreachable: (cause: unknown) =>
    error(503, 'the service cannot reach its database, try again', { cause, retryAfterSeconds: 1 }),
  databaseLost: (cause: unknown) =>
    error(
      503,
      'the service lost its database during the request: check whether it was carried out before you repeat it',
      { cause },
    ),
  shuttingDown: () => error(503, 'the service is shutting down', { retryAfterSeconds: 1 }),

  // Credentials and teams
  credentialMissing: () => error(401, 'authorization header is missing: send the API key as X-API-Key'),
  credentialMalformed: () => error(401, 'Invalid API key format'),
  credentialExpired: (at: string) =>
    error(401, `API key expired at ${at}: use its successor, or make a new key`),
  credentialUnknown: () => error(401, 'Invalid API key: no team has this key'),
  teamBanned: () => error(403, 'team is banned'),
  teamBlocked: (reason: string | null) =>
    error(403, reason === null || reason === '' ? 'team is blocked' : `team is blocked: ${reason}`),

  // Limits
  rateLimited: (retryAfterSeconds: number) => error(429, 'Rate limit exceeded', { retryAfterSeconds }),
  tooManySandboxes: (limit: number) =>
    error(
      429,
      `sandbox limit reached (${limit} of ${limit} run): kill or pause one, or ask for a higher limit`,
    ),
  teamMemoryFull: (use: { usedMiB: number; askedMiB: number; limitMiB: number }) =>
    error(
      429,
      `memory limit reached (${use.usedMiB} of ${use.limitMiB} MiB in use, ${use.askedMiB} more asked for): kill or pause a sandbox, or ask for a higher limit`,
    ),
  teamEgressUsed: (use: { usedMiB: number; limitMiB: number; month: string; until: string }) =>
    error(
      429,
      `egress limit reached (${use.usedMiB} of ${use.limitMiB} MiB sent in ${use.month}): no sandbox and no build starts until ${use.until}, unless you get a higher limit`,
    ),
  tooManyBuilds: (limit: number) =>
    error(
      429,
      `build limit reached (${limit} of ${limit} run): wait until one ends, or ask for a higher limit`,
    ),
  tooManyWebhooks: (limit: number) =>
    error(429, `webhook limit reached (${limit} of ${limit}): delete one, or ask for a higher limit`),

  // Sandboxes
  invalidSandboxId: () => error(400, 'Invalid sandbox ID'),
  sandboxNotFound: (sandboxId: string) =>
    error(404, `sandbox ${sandboxId} does not exist or you have no access to it`),
  sandboxConflict: (sandboxId: string, doing: string) => error(409, `sandbox ${sandboxId} ${doing}`),
  timeoutTooLong: (maxSeconds: number) =>
    error(
      400,
      `the timeout is longer than ${maxSeconds / 3600} hours, which is the most that the team may use`,
    ),
  timeoutNotPositive: () => error(400, 'the timeout must be greater than 0'),
  maxLifeExceeded: () => error(400, 'Max instance length exceeded'),
  metadataFilter: (detail: string) => error(400, `Error parsing metadata: ${detail}`),
  invalidNextToken: () => error(400, 'Invalid next token'),
  egressProxyForbidden: () => error(403, 'network.egressProxy is not enabled for this team'),
  networkNotEnforced: (field: string) =>
    error(400, `network.${field} is refused: the driver of this server cannot enforce it`),
  egressUnreachable: (cause: unknown) =>
    error(503, 'the process that carries the connections of sandboxes does not answer, try again', {
      retryAfterSeconds: 1,
      cause,
    }),
  networkNotInForce: (reason: string, cause: unknown) =>
    error(503, `the network settings are stored, but not in force yet, which is tried again: ${reason}`, {
      cause,
    }),
  volumeMountsFailed: (cause: unknown) => error(500, 'failed to convert volume mounts', { cause }),
  volumesDeleted: (sandboxId: string, mounts: string[]) =>
    error(
      400,
      `volumeMounts: sandbox ${sandboxId} cannot start again: what it mounts was deleted: ${mounts.join('; ')}. Kill it, and create one with other volumes`,
    ),
  nodeBusy: (sandboxId: string) =>
    error(503, `the node of sandbox ${sandboxId} is busy, try again`, { retryAfterSeconds: 1 }),
  nodeUnreachable: (cause?: unknown) =>
    error(
      503,
      (cause as { refused?: unknown } | undefined)?.refused === true
        ? 'the certificate of the node that has this sandbox, template or volume is not accepted by the server that was asked: its operator has to correct that'
        : 'the node that has this sandbox, template or volume does not answer, try again later',
      { retryAfterSeconds: 5, cause },
    ),
  /** It does not pass: with the code clients do not try again. */
  memorySnapshotMissing: (what: string) =>
    error(503, `${what} needs memory snapshots, which this server cannot make (capability memorySnapshot)`, {
      errorCode: 'sandbox_feature_unsupported',
    }),
  checkpointFailed: (what: string, reason: string, cause: unknown) =>
    error(500, `${what} failed: ${reason}`, { cause }),

  // Placement. The prefix is a promise.
  capacityUnavailable: (reason: string) =>
    error(503, `${PLACEMENT}${reason}, try again later`, {
      errorCode: 'sandbox_capacity_unavailable',
      retryAfterSeconds: 1,
    }),
  noCompatibleNode: (reason: string, cause?: unknown) =>
    error(503, `${PLACEMENT}${reason}`, { errorCode: 'sandbox_no_compatible_node', cause }),
  placementTimeout: (attempts: number) =>
    error(504, `${PLACEMENT}timed out${attempts > 0 ? ` after ${attempts} attempts` : ''}, try again`, {
      errorCode: 'sandbox_placement_timeout',
    }),
  createFailed: (reason: string, cause?: unknown) =>
    error(500, `${PLACEMENT}${reason}`, { errorCode: 'sandbox_create_failed', cause }),
  placementFailed: (cause: unknown) =>
    error(500, `${PLACEMENT}internal error`, { errorCode: 'internal_server_error', cause }),

  // Idempotency
  idempotencyKeyInvalid: () => error(400, 'Idempotency-Key must be 1 to 255 characters of a-z and 0-9'),
  idempotencyMismatch: () =>
    error(409, 'this idempotency key was used with another request', {
      errorCode: 'idempotency_request_mismatch',
    }),
  idempotencyInProgress: () =>
    error(409, 'the first request with this idempotency key is still running', {
      errorCode: 'idempotency_in_progress',
      retryAfterSeconds: 1,
    }),
  idempotencyUnknown: () =>
    error(422, 'the outcome of the first request with this idempotency key is unknown', {
      errorCode: 'idempotency_outcome_unknown',
    }),

  // Templates
  templateReferenceInvalid: (reference: string) =>
    error(400, `'${reference.slice(0, 200)}' is not a template reference: [namespace/]alias[:tag]`),
  templateNotFound: (reference: string) =>
    error(404, `template '${reference.slice(0, 200)}' not found${builtinHint(reference)}`),
  templateTagNotFound: (tag: string, reference: string) =>
    error(404, `tag '${tag}' of template '${reference.slice(0, 200)}' not found`),
  templateForbidden: () => error(403, 'the template belongs to another team'),
  templateNotReady: (reference: string) =>
    error(404, `template '${reference.slice(0, 200)}' has no finished build`),
  templateNameIsId: (name: string) =>
    error(409, `'${name}' is the identifier of a template, choose another name`),
  templateNameTaken: (name: string) => error(409, `the name '${name}' is taken`),
  templateAliasForeign: (name: string) =>
    error(403, `the name '${name}' belongs to a template of another owner`),
  templateSystem: () => error(403, 'the template belongs to the service and cannot be changed'),
  templateInUse: (count: number) =>
    error(400, `the template cannot be deleted: ${count} running or paused sandboxes stand on it`),

  // Builds
  invalidBuildId: () => error(400, 'Invalid build ID'),
  buildNotFound: (buildId: string) => error(404, `build '${buildId}' not found`),
  buildNotWaiting: (status: string) =>
    error(400, `the build cannot be started: it is not waiting, its status is ${status}`),
  uploadRefused: () => error(403, 'the upload link is not valid (any more): ask for a new one'),
  archiveRefused: (why: string) => error(400, `the archive is refused: ${why}`),

  // Secrets: fixed texts, nothing of the request
  invalidSecretsRequest: () => error(400, 'Invalid secrets request'),
  secretNotFound: () => error(404, 'Secret not found'),
  secretNameTaken: () => error(409, 'A secret with this name already exists'),
  secretLimitReached: (limit: number) =>
    error(409, `secret limit reached (${limit} of ${limit}): delete one, or ask for a higher limit`, {
      errorCode: 'secret_limit_reached',
    }),

  // Storage
  teamStorageFull: (usedMiB: number, limitMiB: number) =>
    error(
      429,
      `storage limit reached (${usedMiB} of ${limitMiB} MiB): delete volumes, snapshots, paused sandboxes or templates, or ask for a higher limit`,
    ),
  serverStorageFull: () =>
    error(
      503,
      'the disk of the server is full (only its reserve is free): delete what is not needed, or try again later',
      {
        retryAfterSeconds: 60,
      },
    ),

  // Volumes
  invalidVolumeId: () => error(400, 'Invalid volume ID'),
  volumeNotFound: () => error(404, 'Volume not found'),
  volumeNameTaken: (name: string) => error(400, `a volume named '${name}' already exists`),
  volumeDeletionFailed: (cause: unknown) => error(500, 'Error recording volume deletion', { cause }),

  // Webhooks, keys
  invalidWebhookId: () => error(400, 'Invalid webhook ID'),
  webhookNotFound: () => error(404, 'Webhook not found'),
  invalidEventId: () => error(400, 'Invalid event ID'),
  deliveryNotFound: () =>
    error(
      404,
      'this event was not sent to this webhook, or is no longer kept: the list of deliveries has those that can be sent again',
    ),
  deliveryPending: () =>
    error(409, 'this event is on its way already: send it again once its delivery has succeeded or failed'),
  webhookDisabled: () =>
    error(
      409,
      'the webhook is disabled, so nothing is delivered to it: enable it, then send the event again',
    ),
  // Operators
  operatorCredential: () =>
    error(401, 'the operator token is missing or wrong: send it as Authorization: Bearer <token>'),
  /** The header distinguishes it from an answer of a sandbox. */
  dashboardSession: () =>
    new ApiError({
      status: 401,
      message: 'you are not signed in, or no longer: sign in again',
      headers: { 'Svc-Dashboard-Session': 'none' },
    }),
  operatorTokenWrong: () =>
    error(
      401,
      'this is not the operator token: it stands in operator-token in the data directory of the server',
    ),
  dashboardNotBuilt: (cause: unknown) =>
    error(500, 'the files of the dashboard cannot be read: install or build @svc/dashboard', { cause }),
  dashboardCode: () =>
    error(401, 'the link was used before or is too old: get another one with `svc dashboard`'),
  dashboardOrigin: () => error(403, 'the request comes from a page of another address'),
  dashboardOperation: () => error(403, 'the dashboard may not do this: use the CLI or the SDK'),
  teamNotFound: (team: string) => error(404, `there is no team '${team.slice(0, 100)}'`),
  teamSlugTaken: (slug: string) => error(409, `the slug '${slug}' is taken`),
  invalidApiKeyId: () => error(400, 'Invalid API key ID'),
  apiKeyNotFound: () => error(404, 'API key not found'),
  nodeNotFound: (nodeId: string) => error(404, `there is no node '${nodeId.slice(0, 100)}'`),
  onlyNode: () => error(409, 'this server has a database of its own: there is no other node'),
  nodeAlive: (nodeId: string) => error(409, `node ${nodeId} lives: stop its server first`),
  nodeHolds: (nodeId: string, has: { sandboxes: number; builds: number; volumes: number }) =>
    error(
      409,
      `node ${nodeId} still has ${has.sandboxes} sandboxes, ${has.builds} snapshots or builds of templates and ${has.volumes} volumes: start it again and empty it, or give it up with forget`,
    ),
  apiKeyRotated: (successorId: string) =>
    error(409, `this API key was rotated already: its successor is ${successorId}, rotate that one`),
  apiKeyExpired: () => error(409, 'this API key has expired: make a new one'),
  expiryIsOver: () => error(400, 'expiresAt must be a time in the future'),
} satisfies Record<string, (...args: never[]) => ApiError>;

import type { components } from '@svc/platform';
import type { IsolationLevel } from '@svc/runtime/contract';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { egressOf } from '../../network/egress/policy-of.js';
import { fromJson, toJson } from '../../storage/json.js';
import type { SandboxConfig, SandboxSecrets } from '../../storage/json-shapes.js';
import { decryptJson } from '../../storage/keys/encrypted-setting.js';
import type { Tx } from '../../storage/schema.js';
import { assertTeamEgress } from '../../teams/quota/egress-month.js';
import { assertTeamRoom } from '../../teams/quota/team-room.js';
import type { StartPorts, Uses } from '../context.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { watchInstance } from '../kill.js';
import { resolveTemplate } from '../records/resolve-template.js';
import { changeRow, forget, isSurelyUndone, removeRow } from '../records/rows.js';
import { begin } from '../records/transition.js';
import { checkTimeout } from '../records/ttl.js';
import { configOf } from '../state/config.js';
import { type LiveSandbox, newLive, type SandboxRow } from '../state/live.js';
import type { ResolvedTemplate } from '../state/resolved-template.js';
import { imageToken } from '../state/sandbox-tokens.js';
import { skipInheritedLogs } from '../telemetry/collect-logs.js';
import { type BootSource, bootInstance, encryptSecrets, inPhase, startSource } from './boot.js';
import { bringBuild } from './bring-build.js';
import { takePlace } from './capacity.js';
import { checkNetwork, checkProxyAddress, withoutPassword } from './network-settings.js';
import { placementError } from './placement-error.js';
import { resolveMounts } from './resolve-mounts.js';

type CreateRequest = components['schemas']['NewSandboxV2'];

interface CreateOptions {
  team: Team;
  request: CreateRequest;
  /** Used when the request names none, seconds. */
  defaultTimeoutSeconds: number;
  signal?: AbortSignal;
}

/**
 * Creates a sandbox and waits until its daemon answers.
 * @throws {ApiError} 400, 403, 404, 429; 500, 503, 504 when it cannot be placed.
 */
export async function createSandbox(
  context: StartPorts & Uses<'copies' | 'templates'>,
  options: CreateOptions,
): Promise<SandboxRow> {
  const { team, request } = options;
  const resolved = await resolveTemplate(context, team, request.templateID);
  const timeoutSeconds = checkTimeout(request.timeout ?? options.defaultTimeoutSeconds, team.limits);
  checkAutoPause(request);
  checkEnvVars(request.envVars ?? {});
  const network = request.network === undefined ? undefined : checkNetwork(request.network, team.flags);
  const allowInternetAccess = request.allow_internet_access ?? null;
  egressOf(
    { ...(network === undefined ? {} : { network }), allowInternetAccess },
    context.driver.capabilities,
  );
  if (network !== undefined) await checkProxyAddress(network, context.config.egress.allowRanges);
  const mounts = await resolveMounts(context, team, request.volumeMounts ?? []);

  await bringBuild(context, resolved).catch((error: unknown) => {
    throw placementError(error, false);
  });
  const { build } = resolved;
  const password = network?.egressProxy?.password;
  const config: SandboxConfig = {
    ...(network === undefined ? {} : { network: withoutPassword(network) }),
    allowInternetAccess,
    autoPause: request.autoPause ?? false,
    autoPauseMemory: request.autoPauseMemory ?? true,
    autoResume: request.autoResume?.enabled ?? false,
    mounts,
    ...(request.iam === undefined ? {} : { iam: request.iam }),
    ...(request.mcp === undefined || request.mcp === null ? {} : { mcp: request.mcp }),
    defaultUser: build.default_user ?? 'user',
    defaultWorkdir: build.default_workdir,
    startCommand: build.start_command,
    layers: fromJson(build.layers),
    ...(resolved.isolation === undefined ? {} : { isolation: resolved.isolation }),
  };
  const envVars = { ...templateEnvVars(context, build), ...request.envVars };
  const secrets: SandboxSecrets = {
    ...(Object.keys(envVars).length === 0 ? {} : { envVars }),
    ...(password === undefined ? {} : { egressProxyPassword: password }),
  };
  const row = newRow(context, team, resolved, {
    config,
    encryptedSecrets: encryptSecrets(context, secrets),
    metadata: request.metadata,
    timeoutSeconds,
  });
  const source = sourceOf(context, resolved, mounts.length > 0);
  return startNew(context, {
    team,
    row,
    source,
    inheritsLogs: source.kind === 'checkpoint' && source.memory,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}

interface StartOptions {
  team: Team;
  row: SandboxRow;
  source: BootSource;
  /** True when the daemon in memory still holds the output of the source. Forks set their place in it themselves. */
  inheritsLogs?: boolean;
  /** Runs in the transaction that makes it a running sandbox: what it throws undoes the start. */
  confirm?: (tx: Tx) => Promise<void>;
  signal?: AbortSignal;
}

/**
 * Stores a new sandbox's row, boots the sandbox, and emits the event. Nothing is left when it fails.
 * @throws {ApiError} 429 above a limit of the team, 503 above the server's; 500, 503, 504 when it cannot be placed.
 */
export async function startNew(context: StartPorts, options: StartOptions): Promise<SandboxRow> {
  const { team, row } = options;
  await assertTeamEgress(context, team);
  const givePlaceBack = takePlace(context);
  const live = context.sandboxes.set(newLive(row));
  givePlaceBack();
  return begin(context, live, 'creating', async () => {
    try {
      await inPhase(context.metrics, startSource(options.source), 'record', () =>
        context.db.transaction().execute(async (tx) => {
          await context.nodes.assertOwned(tx);
          await insertMetadata(tx, row);
          await tx.insertInto('sandboxes').values(row).execute();
          await assertTeamRoom(tx, team, row);
        }),
      );
    } catch (error) {
      live.stale = !isSurelyUndone(error);
      if (!live.stale) forget(context, live);
      throw error;
    }
    return finishCreate(context, live, options);
  });
}

async function finishCreate(
  context: StartPorts,
  live: LiveSandbox,
  options: StartOptions,
): Promise<SandboxRow> {
  try {
    live.instance = await bootInstance(context, live.row, options.source, options.signal);
    if (options.inheritsLogs === true) await skipInheritedLogs(context, live);
    if (options.source.kind === 'fresh') live.logCursor = 0;
    await inPhase(context.metrics, startSource(options.source), 'publish', () =>
      changeRow(
        context,
        live,
        (row) => {
          const now = context.now();
          return {
            state: 'running',
            config: withIsolation(row, live.instance?.isolation),
            instance_id: row.id,
            started_at: now,
            end_at: now + row.timeout_seconds * 1000,
          };
        },
        async (tx, row) => {
          await options.confirm?.(tx);
          await context.events.emit(tx, lifecycleEvent('sandbox.lifecycle.created', row));
          await countSpawn(tx, row.template_id, row.started_at);
        },
      ),
    );
    watchInstance(context, live);
    return live.row;
  } catch (error) {
    await live.instance?.destroy().catch(() => {});
    live.instance = undefined;
    await removeRow(context, live);
    throw error;
  }
}

/** Keeps the isolation that a sandbox got, so that it gets the same when the settings change. */
function withIsolation(row: SandboxRow, isolation: IsolationLevel | undefined): SandboxRow['config'] {
  return isolation === undefined ? row.config : toJson({ ...configOf(row), isolation });
}

/** Adds one use to a template. */
export async function countSpawn(tx: Tx, templateId: string, atMs: number): Promise<void> {
  await tx
    .updateTable('templates')
    .set((build) => ({ spawn_count: build('spawn_count', '+', 1), last_spawned_at: atMs }))
    .where('id', '=', templateId)
    .execute();
}

async function insertMetadata(tx: Tx, row: SandboxRow): Promise<void> {
  if (row.metadata === null) return;
  const entries = Object.entries(fromJson(row.metadata));
  if (entries.length === 0) return;
  await tx
    .insertInto('sandbox_metadata')
    .values(entries.map(([key, value]) => ({ sandbox_id: row.id, key, value })))
    .execute();
}

function checkAutoPause(request: CreateRequest): void {
  if (request.autoPauseMemory !== false) return;
  if (request.autoPause !== true)
    throw errors.badRequest('autoPauseMemory: false is valid only with autoPause: true');
  if (request.autoResume?.enabled === true)
    throw errors.badRequest('autoPauseMemory: false does not go with autoResume.enabled: true');
}

function templateEnvVars(context: Uses<'keys'>, build: ResolvedTemplate['build']): Record<string, string> {
  const plain = fromJson(build.env_vars);
  if (build.encrypted_env_vars === null) return plain;
  return {
    ...plain,
    ...decryptJson(context.keys, 'build', build.encrypted_env_vars),
  };
}

function sourceOf(context: Uses<'keys'>, { build }: ResolvedTemplate, mounted: boolean): BootSource {
  // The stored program of a built template knows no volumes; its layers are whole without it.
  const dispensable = build.definition !== null && mounted;
  if (build.checkpoint_id === null || dispensable) return { kind: 'fresh' };
  return {
    kind: 'checkpoint',
    checkpointId: build.checkpoint_id,
    memory: build.checkpoint_memory === 1,
    tokens: [imageToken(context.keys, build.checkpoint_id)],
  };
}

function newRow(
  context: Uses<'config' | 'ids' | 'now'>,
  team: Team,
  { template, build, alias }: ResolvedTemplate,
  given: {
    config: SandboxConfig;
    encryptedSecrets: SandboxRow['encrypted_secrets'];
    metadata: Record<string, string> | undefined;
    timeoutSeconds: number;
  },
): SandboxRow {
  return {
    ...newLife(context, given.timeoutSeconds),
    team_id: team.id,
    template_id: template.id,
    build_id: build.id,
    alias,
    node_id: context.config.nodeId,
    cpu_count: build.cpu_count,
    memory_mb: build.memory_mb,
    disk_mb: build.disk_mb,
    envd_version: build.envd_version ?? context.config.envdVersion,
    metadata: given.metadata === undefined ? null : toJson(given.metadata),
    config: toJson(given.config),
    encrypted_secrets: given.encryptedSecrets,
  };
}

/**
 * Refuses variables that no program could be given: every command of the sandbox would fail, or not see them.
 * @throws {ApiError} 400 naming the variable, never its value
 */
function checkEnvVars(variables: Record<string, string>): void {
  for (const name of Object.keys(variables))
    if (name === '' || name.includes('='))
      throw errors.badRequest(
        `envVars: ${JSON.stringify(name.slice(0, 100))} cannot be the name of a variable`,
      );
}

/** Returns the fields of the record of a sandbox that starts for the first time, from any source. */
export function newLife(context: Uses<'ids' | 'now'>, timeoutSeconds: number) {
  const now = context.now();
  return {
    id: context.ids.sandboxId(),
    execution_id: context.ids.uuid(),
    state: 'creating',
    view: 'hidden',
    version: 1,
    instance_id: null,
    checkpoint_id: null,
    paused_memory: 0,
    daemon_generation: 0,
    created_at: now,
    started_at: now,
    end_at: now + timeoutSeconds * 1000,
    paused_at: null,
    timeout_seconds: timeoutSeconds,
  } satisfies Partial<SandboxRow>;
}

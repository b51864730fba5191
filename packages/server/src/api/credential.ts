import type { FastifyReply, FastifyRequest } from 'fastify';
import { isActingCredential, readActingCredential } from './auth/acting-credential.js';
import { hashApiKey } from './auth/api-key.js';
import { hasExpired, type Identity, type TeamStore } from './auth/team-store.js';
import type { Uses } from './context/context.js';
import { errors } from './errors/catalog.js';
import { closeUnread } from './http.js';
import type { ConnectionGuard } from './limits/connections.js';
import type { RouteEntry } from './route-table.js';
import { isoTime } from './wire/time.js';

interface CredentialOptions {
  context: Uses<'keys' | 'now' | 'teams'>;
  route: Pick<RouteEntry, 'secured' | 'rules'>;
  /** Receives connections over which a valid key came. */
  connections?: ConnectionGuard | undefined;
}

/** Finds out who sends the requests of one operation. */
export class CredentialCheck {
  readonly #options: CredentialOptions;
  readonly #identities = new WeakMap<FastifyRequest, Identity>();

  constructor(options: CredentialOptions) {
    this.#options = options;
  }

  /** @throws {ApiError} 401, 403 */
  async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { context, route, connections } = this.#options;
    if (!route.secured) return;
    try {
      const key = request.headers['x-api-key'];
      const identity =
        typeof key === 'string' && isActingCredential(key)
          ? await this.#operator(request, key)
          : await authenticate(context.teams, key, route.rules.allowedWhenBlocked === true);
      this.#identities.set(request, identity);
    } catch (error) {
      closeUnread(request, reply);
      throw error;
    }
    connections?.trust(request.raw.socket);
  }

  /** Authenticates the operator acting for a team, also for a banned one. @throws {ApiError} 401 */
  async #operator(request: FastifyRequest, credential: string): Promise<Identity> {
    const { keys, now, teams } = this.#options.context;
    const { method, url = '' } = request.raw;
    const teamId = readActingCredential(keys, credential, { method: method ?? '', url }, now());
    const team = teamId === undefined ? undefined : await teams.get(teamId);
    if (team === undefined) throw errors.credentialUnknown();
    return { team, apiKeyId: 'operator', expiresAtMs: null, operator: true };
  }

  /** Returns the caller of a request that was checked; undefined when its operation asks for no credential. */
  identityOf(request: FastifyRequest): Identity | undefined {
    return this.#identities.get(request);
  }
}

/**
 * Turns the `X-API-Key` header into a team.
 * @param allowedWhenBlocked whether the operation is open to blocked teams.
 * @throws {ApiError} 401 missing, malformed, unknown or expired, each with its own text; 403 banned or blocked.
 */
async function authenticate(
  teams: TeamStore,
  header: string | string[] | undefined,
  allowedWhenBlocked: boolean,
): Promise<Identity> {
  const key = Array.isArray(header) ? header[0] : header;
  if (key === undefined || key === '') throw errors.credentialMissing();
  const hash = hashApiKey(key);
  if (hash === undefined) throw errors.credentialMalformed();
  const identity = await teams.find(hash);
  if (identity === undefined) throw errors.credentialUnknown();
  if (identity.expiresAtMs !== null && hasExpired(identity, teams.now()))
    throw errors.credentialExpired(isoTime(identity.expiresAtMs));
  if (identity.team.banned) throw errors.teamBanned();
  if (identity.team.blocked && !allowedWhenBlocked) throw errors.teamBlocked(identity.team.blockedReason);
  return identity;
}

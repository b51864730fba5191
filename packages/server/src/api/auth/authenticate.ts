import { errors } from '../errors/catalog.js';
import { isoTime } from '../wire/time.js';
import { hashApiKey } from './api-key.js';
import { hasExpired, type Identity, type TeamStore } from './team-store.js';

/**
 * Turns the `X-API-Key` header into a team.
 * @param allowedWhenBlocked whether the operation is open to blocked teams.
 * @throws {ApiError} 401 missing, malformed, unknown or expired, each with its own text; 403 banned or blocked.
 */
export async function authenticate(
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

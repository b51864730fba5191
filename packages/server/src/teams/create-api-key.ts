import type { components } from '@svc/platform';
import { API_KEY_PREFIX, hashApiKey, maskApiKey } from '../api/auth/api-key.js';
import { errors } from '../api/errors/catalog.js';
import type { Ids } from '../config/ids.js';
import { toJson } from '../storage/json.js';
import type { Database } from '../storage/schema.js';
import type { NewKey } from './new-key.js';
import { apiKeyToWire } from './wire.js';

/** Makes a key of a team. The answer is the only place where the key itself stands. @throws {ApiError} 400 for an expiry that is over */
export async function createApiKey(
  context: { db: Database; ids: Ids; now(): number },
  teamId: string,
  { name, expiresAtMs }: NewKey,
): Promise<components['schemas']['CreatedApiKey']> {
  const now = context.now();
  if (expiresAtMs !== undefined && !(expiresAtMs > now)) throw errors.expiryIsOver();
  const key = `${API_KEY_PREFIX}${context.ids.hex(20)}`;
  const row = {
    id: context.ids.uuid(),
    team_id: teamId,
    name,
    hash: hashApiKey(key)!,
    mask: toJson(maskApiKey(key)),
    created_at: now,
    last_used_at: null,
    expires_at: expiresAtMs ?? null,
    successor_id: null,
  };
  await context.db.insertInto('api_keys').values(row).execute();
  return { ...apiKeyToWire(row), key };
}

import type { components } from '@svc/platform';
import { API_KEY_PREFIX, hashApiKey, maskApiKey } from '../auth/api-key.js';
import type { Ids } from '../ids/ids.js';
import { toJson } from '../storage/json.js';
import type { Database } from '../storage/schema.js';
import { apiKeyToWire } from './wire.js';

/** Makes a key of a team. The answer is the only place where the key itself stands. */
export async function createApiKey(
  context: { db: Database; ids: Ids; now(): number },
  teamId: string,
  name: string,
): Promise<components['schemas']['CreatedApiKey']> {
  const key = `${API_KEY_PREFIX}${context.ids.hex(20)}`;
  const row = {
    id: context.ids.uuid(),
    team_id: teamId,
    name,
    hash: hashApiKey(key)!,
    mask: toJson(maskApiKey(key)),
    created_at: context.now(),
    last_used_at: null,
  };
  await context.db.insertInto('api_keys').values(row).execute();
  return { ...apiKeyToWire(row), key };
}

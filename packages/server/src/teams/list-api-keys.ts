import type { components } from '@svc/platform';
import type { Uses } from './context.js';
import { apiKeyToWire } from './wire.js';

/** Keys of a team, oldest first, masked. */
export async function listApiKeys(
  context: Uses<'db'>,
  teamId: string,
): Promise<components['schemas']['ApiKey'][]> {
  const rows = await context.db
    .selectFrom('api_keys')
    .selectAll()
    .where('team_id', '=', teamId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(apiKeyToWire);
}

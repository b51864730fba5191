import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { Uses } from './context.js';

/** Deletes a key, which stops working at once. @throws {ApiError} 400, 404 */
export async function deleteApiKey(
  context: Uses<'db' | 'teams'>,
  teamId: string,
  apiKeyId: string,
): Promise<void> {
  if (!isUuid(apiKeyId)) throw errors.invalidApiKeyId();
  const result = await context.db
    .deleteFrom('api_keys')
    .where('id', '=', apiKeyId.toLowerCase())
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  if (result.numDeletedRows === 0n) throw errors.apiKeyNotFound();
  context.teams.invalidate();
}

import type { components } from '@svc/platform';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { Uses } from './context.js';
import { createApiKey } from './create-api-key.js';

/**
 * Makes the successor of a key. Both work until the overlap is over, or until the old key would have stopped anyway.
 * @throws {ApiError} 400, 404, 409 when it has a successor or has expired
 */
export async function rotateApiKey(
  context: Uses<'db' | 'dialect' | 'ids' | 'now' | 'teams'>,
  apiKeyId: string,
  options: { overlapMs: number; expiresAtMs?: number | undefined },
): Promise<components['schemas']['CreatedApiKey']> {
  if (!isUuid(apiKeyId)) throw errors.invalidApiKeyId();
  const id = apiKeyId.toLowerCase();
  const made = await context.db.transaction().execute(async (db) => {
    const old = await db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      // Two rotations at once would make two successors.
      .$if(context.dialect === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    if (old === undefined) throw errors.apiKeyNotFound();
    const now = context.now();
    if (old.successor_id !== null) throw errors.apiKeyRotated(old.successor_id);
    if (old.expires_at !== null && old.expires_at <= now) throw errors.apiKeyExpired();
    const { name, team_id } = old;
    const successor = await createApiKey({ ...context, db }, team_id, {
      name,
      expiresAtMs: options.expiresAtMs,
    });
    const endsAt = Math.min(now + options.overlapMs, old.expires_at ?? Number.POSITIVE_INFINITY);
    await db
      .updateTable('api_keys')
      .set({ expires_at: endsAt, successor_id: successor.id })
      .where('id', '=', id)
      .execute();
    return successor;
  });
  context.teams.invalidate();
  return made;
}

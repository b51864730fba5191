import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import { API_KEY_PREFIX, hashApiKey, maskApiKey } from '../api/auth/api-key.js';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import { isoTime } from '../api/wire/time.js';
import type { Ids } from '../config/ids.js';
import { fromJson, toJson } from '../storage/json.js';
import type { ApiKeysTable, Database } from '../storage/schema.js';
import type { Uses } from './context.js';

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

/** A key to make. */
export interface NewKey {
  name: string;
  /** Ms since the epoch; undefined: never. */
  expiresAtMs?: number | undefined;
}

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

export function apiKeyToWire(row: Selectable<ApiKeysTable>): components['schemas']['ApiKey'] {
  return {
    id: row.id,
    name: row.name,
    mask: fromJson(row.mask),
    createdAt: isoTime(row.created_at),
    lastUsed: row.last_used_at === null ? null : isoTime(row.last_used_at),
    ...(row.expires_at === null ? {} : { expiresAt: isoTime(row.expires_at) }),
    ...(row.successor_id === null ? {} : { successorID: row.successor_id }),
  };
}

/** A key to make, as both documents have it. */
export function newKeyFromWire({ name, expiresAt }: components['schemas']['NewApiKey']): NewKey {
  return { name, expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt) };
}

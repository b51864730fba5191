import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { cutPage, decodeNextToken } from '../../api/wire/next-token.js';
import { isoTime } from '../../api/wire/time.js';
import { isUniqueViolation } from '../../storage/database-errors.js';
import { fromJson, toJson } from '../../storage/json.js';
import { afterKey } from '../../storage/keyset.js';
import type { Database, SecretsTable, Tx } from '../../storage/schema.js';
import type { Uses } from '../context.js';
import {
  canonicalSecretName,
  checkSecretMetadata,
  checkSecretValue,
  parseSecretSelector,
  secretIdFromHex,
} from './rules.js';
import { encryptSecret } from './values.js';

type Context = Uses<'db' | 'ids' | 'keys' | 'now'>;

/**
 * Stores a new secret, version 1.
 * @throws {ApiError} 400, 409 when the name is taken, 409 `secret_limit_reached`
 */
export async function createSecret(
  context: Context,
  team: Team,
  request: components['schemas']['NewSecret'],
): Promise<components['schemas']['Secret']> {
  const name = canonicalSecretName(request.name);
  checkSecretValue(request.value);
  const metadata = request.metadata ?? {};
  checkSecretMetadata(metadata);
  const now = context.now();
  const row = {
    id: secretIdFromHex(context.ids.hex(16)),
    team_id: team.id,
    name,
    current_version: 1,
    metadata: toJson(metadata),
    created_at: now,
    updated_at: now,
  };
  try {
    await context.db.transaction().execute(async (tx) => {
      // The insert comes first: where two requests race, the second waits here (or fails) and then counts the first.
      await tx.insertInto('secrets').values(row).execute();
      await tx
        .insertInto('secret_versions')
        .values({
          secret_id: row.id,
          version: 1,
          encrypted_value: encryptSecret(context.keys, row.id, 1, request.value),
          created_at: now,
        })
        .execute();
      const { count } = await tx
        .selectFrom('secrets')
        .select((select) => select.fn.countAll<number>().as('count'))
        .where('team_id', '=', team.id)
        .executeTakeFirstOrThrow();
      if (Number(count) > team.limits.maxSecrets) throw errors.secretLimitReached(team.limits.maxSecrets);
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw errors.secretNameTaken();
    throw error;
  }
  return secretToWire(row);
}

/**
 * The secret that an id or a name of the team selects.
 * @throws {ApiError} 400 for a bad selector, 404
 */
export async function findSecret(
  db: Database | Tx,
  teamId: string,
  selectorText: string,
): Promise<SecretsTable> {
  const selector = parseSecretSelector(selectorText);
  const row = await db
    .selectFrom('secrets')
    .selectAll()
    .where('team_id', '=', teamId)
    .where(selector.by, '=', selector.by === 'id' ? selector.id : selector.name)
    .executeTakeFirst();
  if (row === undefined) throw errors.secretNotFound();
  return row;
}

/** Secrets of a team, newest first. */
export async function listSecrets(
  db: Database,
  teamId: string,
  page: { limit?: number | undefined; nextToken?: string | undefined },
): Promise<{ headers: Record<string, string>; body: components['schemas']['Secret'][] }> {
  const limit = page.limit ?? 100;
  let query = db.selectFrom('secrets').selectAll().where('team_id', '=', teamId);
  const after = decodeNextToken(page.nextToken);
  if (after !== undefined)
    query = query.where(afterKey(after, { time: 'created_at', id: 'id' }, { time: 'desc', id: 'desc' }));
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  const { rows: shown, headers } = cutPage(rows, limit, (row) => ({ atMs: row.created_at, id: row.id }));
  return { headers, body: shown.map(secretToWire) };
}

/**
 * Appends a version and makes it the current one. Metadata that is not given stays.
 * @throws {ApiError} 400, 404
 */
export async function updateSecret(
  context: Uses<'db' | 'keys' | 'now'>,
  teamId: string,
  selector: string,
  request: components['schemas']['UpdateSecret'],
): Promise<components['schemas']['Secret']> {
  checkSecretValue(request.value);
  if (request.metadata !== undefined) checkSecretMetadata(request.metadata);
  const { id } = await findSecret(context.db, teamId, selector);
  return context.db.transaction().execute(async (tx) => {
    const now = context.now();
    // The update takes the row's lock, so that two updates get two versions.
    await tx
      .updateTable('secrets')
      .set((update) => ({
        current_version: update('current_version', '+', 1),
        updated_at: now,
        ...(request.metadata === undefined ? {} : { metadata: toJson(request.metadata) }),
      }))
      .where('id', '=', id)
      .where('team_id', '=', teamId)
      .execute();
    const row = await findSecret(tx, teamId, id);
    const ciphertext = encryptSecret(context.keys, id, row.current_version, request.value);
    await tx
      .insertInto('secret_versions')
      .values({ secret_id: id, version: row.current_version, encrypted_value: ciphertext, created_at: now })
      .execute();
    return secretToWire(row);
  });
}

/** Revokes a secret with all its versions; the name is free again. @throws {ApiError} 400, 404 */
export async function deleteSecret(db: Database, teamId: string, selector: string): Promise<void> {
  const { id } = await findSecret(db, teamId, selector);
  await db.transaction().execute(async (tx) => {
    await tx.deleteFrom('secret_versions').where('secret_id', '=', id).execute();
    await tx.deleteFrom('secrets').where('id', '=', id).execute();
  });
}

/** The record as the API shows it. The value is no part of it. */
export function secretToWire(row: SecretsTable): components['schemas']['Secret'] {
  return {
    secretID: row.id,
    name: row.name,
    currentVersion: row.current_version,
    metadata: fromJson(row.metadata),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

import { errors } from '../../api/errors/catalog.js';
import type { Database, SecretsTable, Tx } from '../../storage/schema.js';
import { parseSecretSelector } from './rules.js';

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

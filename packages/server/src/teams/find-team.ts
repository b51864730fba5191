import type { Selectable } from 'kysely';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { TeamsTable } from '../storage/schema.js';
import type { Uses } from './context.js';

export type TeamRow = Selectable<TeamsTable>;

/**
 * Finds a team by its id or its slug.
 * @param options `lock`: keep others from changing the row until the transaction ends (PostgreSQL).
 * @throws {ApiError} 404
 */
export async function findTeam(
  context: Uses<'db'>,
  idOrSlug: string,
  options: { lock?: boolean } = {},
): Promise<TeamRow> {
  const row = await context.db
    .selectFrom('teams')
    .selectAll()
    .where(isUuid(idOrSlug) ? 'id' : 'slug', '=', idOrSlug.toLowerCase())
    .$if(options.lock === true, (query) => query.forUpdate())
    .executeTakeFirst();
  if (row === undefined) throw errors.teamNotFound(idOrSlug);
  return row;
}

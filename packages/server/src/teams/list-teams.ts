import { cutPage, decodeNextToken, type Page } from '../api/wire/next-token.js';
import type { Uses } from './context.js';
import type { TeamRow } from './find-team.js';

/** A page of all teams, oldest first. @throws {ApiError} 400 for a cursor that cannot be read */
export async function listTeams(
  context: Uses<'db'>,
  options: { limit: number; nextToken?: string | undefined },
): Promise<Page<TeamRow>> {
  const after = decodeNextToken(options.nextToken, 'asc');
  const rows = await context.db
    .selectFrom('teams')
    .selectAll()
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), '>', tuple(after!.atMs, after!.id)),
      ),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(options.limit + 1)
    .execute();
  return cutPage(rows, options.limit, (row) => ({ atMs: row.created_at, id: row.id }), 'asc');
}

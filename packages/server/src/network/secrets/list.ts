import type { components } from '@svc/platform';
import { cutPage, decodeNextToken } from '../../api/wire/next-token.js';
import { afterKey } from '../../storage/keyset.js';
import type { Database } from '../../storage/schema.js';
import { secretToWire } from './wire.js';

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

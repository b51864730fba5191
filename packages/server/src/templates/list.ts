import type { components } from '@svc/platform';
import { sql } from 'kysely';
import type { Team } from '../api/auth/team-store.js';
import { cutPage, decodeNextToken } from '../api/wire/next-token.js';
import type { TemplateRow } from '../sandboxes/records/find-template.js';
import { afterKey } from '../storage/keyset.js';
import type { Uses } from './context.js';
import { namesOf } from './names.js';
import { type BuildRow, templateToWire } from './wire.js';

type WireTemplate = components['schemas']['Template'];

/** Templates of a team, newest first, one page. Snapshots have a list of their own. @throws {ApiError} 400 bad cursor */
export async function listTemplates(
  context: Uses<'db'>,
  team: Team,
  page: { limit?: number | undefined; nextToken?: string | undefined },
): Promise<{ headers: Record<string, string>; body: WireTemplate[] }> {
  const limit = page.limit ?? 100;
  let query = ofTeam(context, team);
  const after = decodeNextToken(page.nextToken);
  if (after !== undefined)
    query = query.where(afterKey(after, { time: 'created_at', id: 'id' }, { time: 'desc', id: 'asc' }));
  const rows = await query.limit(limit + 1).execute();
  const { rows: shown, headers } = cutPage(rows, limit, (row) => ({ atMs: row.created_at, id: row.id }));
  return { headers, body: await describe(context, shown) };
}

/** All templates of a team in one answer. */
export async function listAllTemplates(context: Uses<'db'>, team: Team): Promise<WireTemplate[]> {
  return describe(context, await ofTeam(context, team).execute());
}

function ofTeam(context: Uses<'db'>, team: Team) {
  return context.db
    .selectFrom('templates')
    .selectAll()
    .where('team_id', '=', team.id)
    .where('kind', '=', 'template')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'asc');
}

const CHUNK = 500;

async function describe(context: Uses<'db'>, rows: TemplateRow[]): Promise<WireTemplate[]> {
  const result: WireTemplate[] = [];
  for (let start = 0; start < rows.length; start += CHUNK) {
    const chunk = rows.slice(start, start + CHUNK);
    const ids = chunk.map((row) => row.id);
    const [names, newest] = await Promise.all([namesOf(context.db, ids), newestBuilds(context, ids)]);
    for (const row of chunk) {
      const build = newest.get(row.id);
      if (build !== undefined) result.push(templateToWire(row, build, names.get(row.id)));
    }
  }
  return result;
}

async function newestBuilds(context: Uses<'db'>, templateIds: string[]): Promise<Map<string, BuildRow>> {
  const builds = await context.db
    .selectFrom('template_builds')
    .selectAll('template_builds')
    .where('template_id', 'in', templateIds)
    .where(
      'id',
      '=',
      sql<string>`(select newest.id from template_builds newest where newest.template_id = template_builds.template_id order by newest.created_at desc, newest.id asc limit 1)`,
    )
    .execute();
  return new Map(builds.map((build) => [build.template_id, build]));
}

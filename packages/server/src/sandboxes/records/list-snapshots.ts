import type { components } from '@svc/platform';
import type { Team } from '../../api/auth/team-store.js';
import { cutPage, decodeNextToken } from '../../api/wire/next-token.js';
import { afterKey } from '../../storage/keyset.js';
import type { Uses } from '../context.js';
import { parseTemplateReference } from './template-reference.js';

export interface ListSnapshotsOptions {
  team: Team;
  sandboxId?: string | undefined;
  name?: string | undefined;
  limit: number;
  nextToken?: string | undefined;
}

/** Lists snapshots of a team, newest first. An unknown name has none. @throws {ApiError} 400 */
export async function listSnapshots(
  context: Uses<'db'>,
  options: ListSnapshotsOptions,
): Promise<{ snapshots: components['schemas']['SnapshotInfo'][]; nextToken: string | undefined }> {
  const after = decodeNextToken(options.nextToken);
  const reference = options.name === undefined ? undefined : parseTemplateReference(options.name);
  let query = context.db
    .selectFrom('template_builds')
    .innerJoin('template_tags', 'template_tags.build_id', 'template_builds.id')
    .leftJoin('template_aliases', (join) =>
      join
        .onRef('template_aliases.template_id', '=', 'template_builds.template_id')
        .on('template_aliases.namespace', '=', options.team.slug),
    )
    .select([
      'template_builds.id as build_id',
      'template_builds.template_id as template_id',
      'template_builds.created_at as created_at',
      'template_tags.tag as tag',
      'template_aliases.alias as alias',
    ])
    .where('template_builds.team_id', '=', options.team.id)
    .where('template_builds.source_sandbox_id', 'is not', null)
    // Built templates may hold the memory of their start command: they are no snapshots.
    .where('template_builds.definition', 'is', null);
  if (options.sandboxId !== undefined)
    query = query.where('template_builds.source_sandbox_id', '=', options.sandboxId);
  if (reference !== undefined) {
    query = query.where('template_aliases.alias', '=', reference.alias);
    if (reference.namespace !== undefined)
      query = query.where('template_aliases.namespace', '=', reference.namespace);
    if (reference.tag !== undefined) query = query.where('template_tags.tag', '=', reference.tag);
  }
  const key = { time: 'template_builds.created_at', id: 'template_builds.id' };
  if (after !== undefined) query = query.where(afterKey(after, key, { time: 'desc', id: 'asc' }));
  const rows = await query
    .orderBy('template_builds.created_at', 'desc')
    .orderBy('template_builds.id', 'asc')
    .limit(options.limit + 1)
    .execute();
  const page = cutPage(rows, options.limit, (row) => ({ atMs: row.created_at, id: row.build_id }));
  return {
    nextToken: page.nextToken,
    snapshots: page.rows.map((row) => {
      const name = row.alias === null ? undefined : `${options.team.slug}/${row.alias}:${row.tag}`;
      return { snapshotID: name ?? `${row.template_id}:${row.tag}`, names: name === undefined ? [] : [name] };
    }),
  };
}

import { toJson } from '../storage/json.js';
import type { BuildRowStatus, Database, Tx } from '../storage/schema.js';
import type { Uses } from './context.js';

const SUPERSEDED = 'superseded by a newer build of the same tag';

/** Builds of a template in one of the states that carry (or carried) one of the tags. */
export async function buildsWithTags(
  db: Database | Tx,
  templateId: string,
  tags: readonly string[],
  status: BuildRowStatus,
): Promise<string[]> {
  if (tags.length === 0) return [];
  const rows = await db
    .selectFrom('template_builds')
    .innerJoin('template_tags', 'template_tags.build_id', 'template_builds.id')
    .select('template_builds.id as id')
    .distinct()
    .where('template_builds.template_id', '=', templateId)
    .where('template_builds.status', '=', status)
    .where('template_tags.tag', 'in', [...tags])
    .execute();
  return rows.map((row) => row.id);
}

/** Marks builds as failed because newer ones took their place; what has ended meanwhile stays as it is. */
export async function markSuperseded(
  context: Uses<'now'>,
  db: Database | Tx,
  buildIds: readonly string[],
): Promise<void> {
  if (buildIds.length === 0) return;
  const now = context.now();
  await db
    .updateTable('template_builds')
    .set((build) => ({
      status: 'error',
      reason: toJson({ message: SUPERSEDED }),
      version: build('version', '+', 1),
      updated_at: now,
      finished_at: now,
    }))
    .where('id', 'in', [...buildIds])
    .where('status', 'in', ['waiting', 'building'])
    .execute();
}

/** Ends builds that run here and were superseded. */
export function cancelBuilds(context: Uses<'builds'>, buildIds: readonly string[]): void {
  for (const id of buildIds) void context.builds.cancel(id, new Error(SUPERSEDED));
}

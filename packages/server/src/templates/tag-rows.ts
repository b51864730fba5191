import type { Database, Tx } from '../storage/schema.js';

/** Points tags to a build. Each assignment is later than every one before, so that the newest is always known. */
export async function putTags(
  tx: Tx,
  templateId: string,
  buildId: string,
  tags: readonly string[],
  nowMs: number,
): Promise<void> {
  for (const tag of tags) {
    const last = await tx
      .selectFrom('template_tags')
      .select((select) => select.fn.max('created_at').as('at'))
      .where('template_id', '=', templateId)
      .where('tag', '=', tag)
      .executeTakeFirst();
    const at = Math.max(nowMs, Number(last?.at ?? 0) + 1);
    await tx
      .insertInto('template_tags')
      .values({ template_id: templateId, tag, build_id: buildId, created_at: at })
      .onConflict((conflict) =>
        conflict.columns(['template_id', 'tag', 'build_id']).doUpdateSet({ created_at: at }),
      )
      .execute();
  }
}

export interface TagAssignment {
  tag: string;
  build_id: string;
  created_at: number;
}

/** Returns the present assignment of each tag of a template, the newest first. */
export async function currentTags(db: Database | Tx, templateId: string): Promise<TagAssignment[]> {
  const rows = await db
    .selectFrom('template_tags')
    .select(['tag', 'build_id', 'created_at'])
    .where('template_id', '=', templateId)
    .orderBy('created_at', 'desc')
    .orderBy('tag')
    .execute();
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(row.tag) && seen.add(row.tag));
}

/**
 * The build that a tag stands for: the last assigned one that is ready, as sandboxes use it; before any is, the last
 * assigned one. Undefined: there is no such tag.
 */
export async function buildOfTag(
  db: Database | Tx,
  templateId: string,
  tag: string,
): Promise<string | undefined> {
  const rows = await db
    .selectFrom('template_tags')
    .innerJoin('template_builds', 'template_builds.id', 'template_tags.build_id')
    .select(['template_builds.id as id', 'template_builds.status as status'])
    .where('template_tags.template_id', '=', templateId)
    .where('template_tags.tag', '=', tag)
    .orderBy('template_tags.created_at', 'desc')
    .execute();
  return (rows.find((row) => row.status === 'ready') ?? rows[0])?.id;
}

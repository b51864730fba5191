import { rm } from 'node:fs/promises';
import type { Team } from '../api/auth/team-store.js';
import { errors } from '../api/errors/catalog.js';
import { dropCheckpoint } from '../sandboxes/records/checkpoints.js';
import { filesDirectory } from '../storage/builds/paths.js';
import { sweepLayers } from '../storage/builds/sweep-layers.js';
import type { Uses } from './context.js';
import { findOwnForChange } from './find-own.js';

/** Rows in one statement. */
const BATCH = 500;

/**
 * Deletes a template or snapshot with its builds, names, tags, files and stored states. Builds under way end. Other nodes clear
 * away what they have of it by themselves: see `clearDeleted`.
 * @throws {ApiError} 400 while sandboxes stand on it; 403, 404
 */
export async function deleteTemplate(
  context: Uses<'builds' | 'config' | 'db' | 'driver' | 'log'>,
  team: Team,
  text: string,
): Promise<void> {
  const { id } = await findOwnForChange(context, team, text);
  const builds = await context.db.transaction().execute(async (tx) => {
    const { count } = await tx
      .selectFrom('sandboxes')
      .select((select) => select.fn.countAll<number>().as('count'))
      .where('template_id', '=', id)
      .executeTakeFirstOrThrow();
    if (Number(count) > 0) throw errors.templateInUse(Number(count));
    const rows = await tx
      .deleteFrom('template_builds')
      .where('template_id', '=', id)
      .returning(['id', 'checkpoint_id', 'node_id'])
      .execute();
    const onOtherNodes = rows.flatMap(({ id: buildId, checkpoint_id, node_id }) =>
      node_id === null || node_id === context.config.nodeId
        ? []
        : [{ build_id: buildId, checkpoint_id, node_id }],
    );
    // SQLite takes at most some thousand values in one statement.
    for (let start = 0; start < onOtherNodes.length; start += BATCH)
      await tx
        .insertInto('deleted_builds')
        .values(onOtherNodes.slice(start, start + BATCH))
        .execute();
    await tx.deleteFrom('template_aliases').where('template_id', '=', id).execute();
    await tx.deleteFrom('template_tags').where('template_id', '=', id).execute();
    await tx.deleteFrom('build_files').where('template_id', '=', id).execute();
    await tx.deleteFrom('templates').where('id', '=', id).execute();
    return rows;
  });
  await Promise.all(
    builds.map((build) => context.builds.cancel(build.id, new Error('the template was deleted'))),
  );
  // Last, because a build that was still running wrote some more.
  if (builds.length > 0)
    await context.db
      .deleteFrom('build_logs')
      .where(
        'build_id',
        'in',
        builds.map((build) => build.id),
      )
      .execute();
  for (const build of builds)
    if (build.checkpoint_id !== null) await dropCheckpoint(context, build.checkpoint_id);
  await rm(filesDirectory(context.config, id), { recursive: true, force: true });
  await sweepLayers(context);
}

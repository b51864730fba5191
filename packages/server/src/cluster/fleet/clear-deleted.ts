import { readdir, rm } from 'node:fs/promises';
import { dropCheckpoint } from '../../sandboxes/records/checkpoints.js';
import { allFilesDirectory, filesDirectory } from '../../storage/builds/paths.js';
import { sweepLayers } from '../../storage/builds/sweep-layers.js';
import type { Uses } from '../context.js';

type Ports = Uses<'builds' | 'config' | 'db' | 'driver' | 'log' | 'nodes'>;

/** Ids in one question to the database. */
const BATCH = 500;

/**
 * Clears away from this node what others deleted: uploaded files, layers and stored states of templates, and builds that are
 * under way for nothing.
 */
export async function clearDeleted(context: Ports): Promise<void> {
  const { db, nodes } = context;
  await endBuilds(context);
  await removeFiles(context);
  const deleted = await db
    .selectFrom('deleted_builds')
    .select(['build_id', 'checkpoint_id'])
    .where('node_id', '=', nodes.nodeId)
    .limit(BATCH)
    .execute();
  if (deleted.length === 0) return;
  for (const { checkpoint_id: id } of deleted) if (id !== null) await dropCheckpoint(context, id);
  // While a build runs here the layers stay: the records go in a later round.
  if (!(await sweepLayers(context))) return;
  await db
    .deleteFrom('deleted_builds')
    .where(
      'build_id',
      'in',
      deleted.map((row) => row.build_id),
    )
    .execute();
}

async function endBuilds({ builds, db }: Ports): Promise<void> {
  const { ids } = builds;
  if (ids.length === 0) return;
  const rows = await db
    .selectFrom('template_builds')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', 'building')
    .execute();
  const wanted = new Set(rows.map(({ id }) => id));
  for (const id of ids)
    if (!wanted.has(id)) void builds.cancel(id, new Error('it was deleted, or another build took its place'));
}

async function removeFiles({ config, db }: Ports): Promise<void> {
  const present = await readdir(allFilesDirectory(config)).catch(() => []);
  for (let start = 0; start < present.length; start += BATCH) {
    const some = present.slice(start, start + BATCH);
    const rows = await db.selectFrom('templates').select('id').where('id', 'in', some).execute();
    const kept = new Set(rows.map(({ id }) => id));
    for (const id of some)
      if (!kept.has(id)) await rm(filesDirectory(config, id), { recursive: true, force: true });
  }
}

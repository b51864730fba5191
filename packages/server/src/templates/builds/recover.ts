import { mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '@svc/runtime/linux';
import type { ServerConfig } from '../../config/config.js';
import { draftsDirectory, trashDirectory } from '../../storage/builds/paths.js';
import { sweepLayers } from '../../storage/builds/sweep-layers.js';
import { toJson } from '../../storage/json.js';
import type { Uses } from '../context.js';

/**
 * Ends builds that were under way when this node's last process died, and moves what they left to the trash. Their
 * instances are destroyed by the recovery of sandboxes, which knows none of them.
 */
export async function recoverBuilds(
  context: Uses<'builds' | 'config' | 'db' | 'driver' | 'ids' | 'log' | 'now'>,
): Promise<void> {
  const now = context.now();
  await context.db
    .updateTable('template_builds')
    .set({
      status: 'error',
      reason: toJson({ message: 'interrupted: start the build again' }),
      updated_at: now,
      finished_at: now,
    })
    .where('status', '=', 'building')
    .where('node_id', '=', context.config.nodeId)
    .execute();
  const trash = trashDirectory(context.config);
  try {
    await mkdir(trash, { recursive: true, mode: 0o700 });
    await rename(draftsDirectory(context.config), path.join(trash, context.ids.hex(16)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      context.log.warn({ err: error }, 'files of interrupted builds could not be removed');
  }
  await sweepLayers(context);
}

/** @throws {AggregateError} when something stays */
export async function emptyBuildTrash(config: Pick<ServerConfig, 'dataDir'>): Promise<void> {
  const trash = trashDirectory(config);
  await removeAll((await readdir(trash).catch(() => [])).map((name) => path.join(trash, name)));
}

/**
 * Removes trees one after another; one that cannot be removed does not save the others. Programs may still change them.
 * @throws {AggregateError} of what went wrong, after the last one.
 */
async function removeAll(trees: readonly string[]): Promise<void> {
  const problems: unknown[] = [];
  for (const tree of trees) await removeTree(tree).catch((error: unknown) => problems.push(error));
  if (problems.length > 0) throw new AggregateError(problems, 'some files could not be removed');
}

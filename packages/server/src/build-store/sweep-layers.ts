import { DriverError } from '@svc/runtime';
import type { Uses } from '../context/context.js';
import { fromJson } from '../storage/json.js';

/**
 * Removes layers of this node that no build and no sandbox stands on. While builds run it is postponed: theirs are not
 * written down before they end. A failure is told and made good by the next sweep.
 * @returns whether it is done
 */
export async function sweepLayers(
  context: Uses<'builds' | 'config' | 'db' | 'driver' | 'log'>,
): Promise<boolean> {
  return context.builds.whenIdle('sweep layers', async () => {
    try {
      await sweep(context);
    } catch (error) {
      context.log.warn({ err: error }, 'unused layers could not be removed');
    }
  });
}

async function sweep(context: Uses<'config' | 'db' | 'driver'>): Promise<void> {
  const present = await context.driver.layers.list();
  if (present.length === 0) return;
  const wanted = new Set<string>();
  for (const { layers } of await context.db.selectFrom('template_builds').select('layers').execute())
    for (const id of fromJson(layers)) wanted.add(id);
  // On a cluster sandboxes of other nodes stand on them too.
  const sandboxes = await context.db.selectFrom('sandboxes').select('config').execute();
  for (const { config } of sandboxes) for (const id of fromJson(config).layers) wanted.add(id);
  for (const { id } of present) {
    if (wanted.has(id)) continue;
    await context.db
      .deleteFrom('layers')
      .where('node_id', '=', context.config.nodeId)
      .where('layer_id', '=', id)
      .execute();
    await context.driver.layers.delete(id).catch((error: unknown) => {
      // A checkpoint stands on it.
      if (!DriverError.is(error) || error.code !== 'busy') throw error;
    });
  }
}

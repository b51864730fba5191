import { type Driver, DriverError } from '@svc/runtime/contract';
import type { Selectable } from 'kysely';
import { fromJson } from '../json.js';
import type { Database, TemplateBuildsTable } from '../schema.js';

interface StoredLayers {
  config: { nodeId: string };
  db: Database;
  driver: Pick<Driver, 'layers'>;
}

/** Runs work while no template build runs. */
export interface IdleBuilds {
  /** @returns whether it is done; false: it is postponed until no build runs */
  whenIdle(name: string, task: () => Promise<void>): Promise<boolean>;
}

export interface SweepPorts extends StoredLayers {
  builds: IdleBuilds;
  log: { warn(fields: object, message: string): void };
}

/**
 * Removes layers of this node that no build and no sandbox stands on. While builds run it is postponed: theirs are not
 * stored before they end. A failure is logged and repaired by the next sweep.
 * @returns whether it is done
 */
export async function sweepLayers(context: SweepPorts): Promise<boolean> {
  return context.builds.whenIdle('sweep layers', async () => {
    try {
      await sweep(context);
    } catch (error) {
      context.log.warn({ err: error }, 'unused layers could not be removed');
    }
  });
}

async function sweep(context: StoredLayers): Promise<void> {
  const present = await context.driver.layers.list();
  if (present.length === 0) return;
  const builds = await context.db.selectFrom('template_builds').select('layers').execute();
  const wanted = await layersOf(context, builds);
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

/** Layers that nothing can start from are left out: those of builds that failed, or were lost with the node that had them. */
export async function usedLayers(context: { db: Database }): Promise<Set<string>> {
  const builds = await context.db
    .selectFrom('template_builds')
    .select('layers')
    .where('status', '!=', 'error')
    .execute();
  return layersOf(context, builds);
}

/** With those of sandboxes: on a cluster sandboxes of other nodes stand on them too. */
async function layersOf(
  { db }: { db: Database },
  builds: readonly Pick<Selectable<TemplateBuildsTable>, 'layers'>[],
): Promise<Set<string>> {
  const used = new Set(builds.flatMap(({ layers }) => fromJson(layers)));
  for (const { config } of await db.selectFrom('sandboxes').select('config').execute())
    for (const id of fromJson(config).layers) used.add(id);
  return used;
}

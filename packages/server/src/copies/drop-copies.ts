import { sweepLayers } from '../build-store/sweep-layers.js';
import type { Uses } from '../context/context.js';
import { forgetCopy } from './holders.js';

type Ports = Uses<'builds' | 'config' | 'copies' | 'db' | 'driver' | 'log'>;

/**
 * Removes from this node what belongs to nothing any more: checkpoints of sandboxes that others took over, and copies of what was
 * deleted. Each node does so for itself, one that was away once it is back.
 */
export async function dropCopies(context: Ports): Promise<void> {
  const { copies, db, config, driver, log } = context;
  if (!copies.possible) return;
  for (const { id } of await driver.listCheckpoints()) {
    const checkpoint = { kind: 'checkpoint', id } as const;
    if (await isWanted(context, id)) continue;
    await copies.holding(checkpoint, async () => {
      // Whoever took it over meanwhile has said so by now.
      if (await isWanted(context, id)) return;
      await driver.deleteCheckpoint(id);
      await forgetCopy(context, checkpoint);
      log.info({ checkpointId: id }, 'a checkpoint that belongs to nothing here was removed');
    });
  }
  const recorded = await db
    .selectFrom('object_copies')
    .select(['kind', 'object_id'])
    .where('node_id', '=', config.nodeId)
    .execute();
  if (recorded.some(({ kind }) => kind === 'layer')) await sweepLayers(context);
  for (const { kind, object_id: id } of recorded)
    await copies.holding({ kind, id }, async () => {
      if ((await driver.transfers?.has({ kind, id })) === false) await forgetCopy(context, { kind, id });
    });
}

/** Whether a record says that a checkpoint has its place here, or that sandboxes start from it on any node. */
async function isWanted({ config, db }: Ports, id: string): Promise<boolean> {
  const own = await db
    .selectFrom('checkpoints')
    .select('id')
    .where('id', '=', id)
    .where('node_id', '=', config.nodeId)
    .executeTakeFirst();
  if (own !== undefined) return true;
  const build = await db
    .selectFrom('template_builds')
    .select('id')
    .where('checkpoint_id', '=', id)
    .executeTakeFirst();
  if (build !== undefined) return true;
  const sandbox = await db
    .selectFrom('sandboxes')
    .select('id')
    .where('node_id', '=', config.nodeId)
    .where('checkpoint_id', '=', id)
    .executeTakeFirst();
  return sandbox !== undefined;
}

import type { StoredObject } from '@svc/runtime/contract';
import { sql } from 'kysely';
import { sweepLayers } from '../../storage/builds/sweep-layers.js';
import type { Uses } from '../context.js';
import { forgetCopy } from './holders.js';

type Ports = Uses<'builds' | 'config' | 'copies' | 'db' | 'driver' | 'log'>;

/**
 * Removes from this node what belongs to nothing any more: checkpoints of sandboxes that others took over, and copies of what was
 * deleted. Each node does so for itself, one that was away once it is back.
 */
export async function dropCopies(context: Ports): Promise<void> {
  const { copies, db, config, driver, log } = context;
  if (!copies.possible) return;
  const present = await driver.listCheckpoints();
  const wanted = await wantedCheckpoints(context);
  for (const { id } of present) {
    if (wanted.has(id)) continue;
    const checkpoint = { kind: 'checkpoint', id } as const;
    await copies.holding(checkpoint, async () => {
      // A node that took it over meanwhile has recorded that by now.
      if ((await wantedCheckpoints(context)).has(id)) return;
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

/** Checkpoints of which a record says that their place is here, or that sandboxes start from them on any node. */
async function wantedCheckpoints({ config, db }: Ports): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from checkpoints where node_id = ${config.nodeId}
    union select checkpoint_id from template_builds where checkpoint_id is not null
    union select checkpoint_id from sandboxes
      where node_id = ${config.nodeId} and checkpoint_id is not null`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** Removes the copy of a checkpoint that was wanted for a moment. What fails here `dropCopies` does again. */
export async function dropCopy(
  context: Uses<'config' | 'db' | 'driver' | 'log'>,
  checkpoint: StoredObject & { kind: 'checkpoint' },
): Promise<void> {
  try {
    await context.driver.deleteCheckpoint(checkpoint.id);
    await forgetCopy(context, checkpoint);
  } catch (error) {
    context.log.warn({ err: error, checkpointId: checkpoint.id }, 'the copy of a checkpoint stays for now');
  }
}

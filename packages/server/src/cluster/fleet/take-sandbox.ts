import { errors } from '../../api/errors/catalog.js';
import { resumeMoved } from '../../sandboxes/change/resume-moved.js';
import type { StartPorts } from '../../sandboxes/context.js';
import { release } from '../../sandboxes/records/rows.js';
import { begin } from '../../sandboxes/records/transition.js';
import { takePlace } from '../../sandboxes/start/capacity.js';
import { placementError } from '../../sandboxes/start/placement-error.js';
import { configOf, isMoving } from '../../sandboxes/state/config.js';
import { newLive, type SandboxRow } from '../../sandboxes/state/live.js';
import type { Uses } from '../context.js';
import { forgetCopy } from '../copies/holders.js';

export type TakePorts = StartPorts & Uses<'copies' | 'draining' | 'nodes'>;

/** Returns whether a sandbox consists of stored objects alone, and may continue on any node. */
export function isMovable(row: SandboxRow): row is SandboxRow & { checkpoint_id: string } {
  const stored = row.state === 'paused' || (row.state === 'resuming' && isMoving(row));
  return stored && row.checkpoint_id !== null && configOf(row).mounts.length === 0;
}

/**
 * Makes a stored sandbox of another node this one's: a paused one, or one on its way here, which is then resumed in the
 * background. What is stored of it is here, whole, before its row says so; who wakes or
 * kills it meanwhile wins. The other node finds by the records that its own copy belongs to nothing any more, and removes it.
 * @param options `stays`: a paused one is to stay paused, which takes no room; `version`: of the row that is meant, which one on its
 * way cannot do without
 * @throws {ApiError} 404; 503 when it cannot be copied, or cannot be resumed here
 */
export async function takeSandbox(
  context: TakePorts,
  sandboxId: string,
  options: { stays?: boolean; version?: number | undefined } = {},
): Promise<void> {
  const { config, copies, db, nodes } = context;
  const row = await db.selectFrom('sandboxes').selectAll().where('id', '=', sandboxId).executeTakeFirst();
  if (row === undefined) throw errors.sandboxNotFound(sandboxId);
  if (row.node_id === config.nodeId) return;
  if (nodes.drain !== 'no' || context.draining())
    throw errors.capacityUnavailable('the server is being drained');
  if (options.version === undefined ? isMoving(row) : options.version !== row.version)
    throw errors.nodeBusy(row.id);
  if (!isMovable(row)) throw errors.capacityUnavailable('the sandbox cannot continue on another server');
  const stays = options.stays === true && row.state === 'paused';
  const givePlaceBack = stays ? () => {} : takePlace(context);
  const checkpoint = { kind: 'checkpoint', id: row.checkpoint_id } as const;
  try {
    await copies.holding(checkpoint, async () => {
      await copies.bring(checkpoint, [row.node_id]).catch((error: unknown) => {
        throw placementError(error, false);
      });
      await takeRow(context, row);
      // It is the original now.
      await forgetCopy(context, checkpoint);
    });
  } finally {
    givePlaceBack();
  }
  context.log.info(
    { sandboxId, fromNodeId: row.node_id, state: row.state },
    'a stored sandbox was taken over from another server',
  );
}

/** @throws {ApiError} 503 when somebody else changed it meanwhile */
async function takeRow(context: TakePorts, row: SandboxRow & { checkpoint_id: string }): Promise<void> {
  const { config, db, nodes } = context;
  const taken = await db.transaction().execute(async (tx) => {
    await nodes.assertOwned(tx);
    const changed = await tx
      .updateTable('sandboxes')
      .set({ node_id: config.nodeId, version: row.version + 1 })
      .where('id', '=', row.id)
      .where('node_id', '=', row.node_id)
      .where('version', '=', row.version)
      .where('state', '=', row.state)
      .returningAll()
      .executeTakeFirst();
    if (changed === undefined) return undefined;
    await tx
      .updateTable('checkpoints')
      .set({ node_id: config.nodeId })
      .where('id', '=', row.checkpoint_id)
      .execute();
    return changed;
  });
  if (taken === undefined) throw errors.nodeBusy(row.id);
  if (!isMoving(taken)) return;
  const known = context.sandboxes.get(row.id);
  // A request for it came between the commit and here.
  if (known !== undefined) return context.repairs.later(known);
  const live = context.sandboxes.set(newLive(taken));
  begin(context, live, 'resuming', () => resumeMoved(context, live), { moving: true })
    .catch((error: unknown) => {
      context.log.warn({ err: error, sandboxId: row.id }, 'a sandbox that was moved is not resumed yet');
    })
    .finally(() => release(context, live));
}

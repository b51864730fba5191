import type { Uses } from '../context/context.js';
import { forgetCopy } from '../copies/holders.js';
import { errors } from '../errors/catalog.js';
import { configOf } from '../sandbox-state/config.js';
import type { SandboxRow } from '../sandbox-state/live.js';
import { activeSandboxes } from '../sandboxes/capacity.js';
import { placementError } from '../sandboxes/placement-error.js';
import type { RowPorts } from '../sandboxes/ports.js';

type Ports = RowPorts & Uses<'copies' | 'driver' | 'log' | 'now'>;

/** Whether a sandbox consists of nothing but what is stored, and may go on on any node. */
export function isMovable(row: SandboxRow): row is SandboxRow & { checkpoint_id: string } {
  return row.state === 'paused' && row.checkpoint_id !== null && configOf(row).mounts.length === 0;
}

/**
 * Makes a paused sandbox of another node this one's. What is stored of it is here, whole, before its row says so; who wakes or
 * kills it meanwhile wins. The other node finds by the records that its own copy belongs to nothing any more, and removes it.
 * @throws {ApiError} 404; 503 when it cannot be had, or cannot go on here
 */
export async function takeSandbox(context: Ports, sandboxId: string): Promise<void> {
  const { config, copies, db, nodes } = context;
  const row = await db.selectFrom('sandboxes').selectAll().where('id', '=', sandboxId).executeTakeFirst();
  if (row === undefined) throw errors.sandboxNotFound(sandboxId);
  if (row.node_id === config.nodeId) return;
  if (nodes.drain !== 'no') throw errors.capacityUnavailable('the server is being drained');
  if (activeSandboxes(context) >= config.maxSandboxes)
    throw errors.capacityUnavailable(`this server runs ${config.maxSandboxes} sandboxes, its most`);
  if (!isMovable(row)) throw errors.capacityUnavailable('the sandbox cannot go on on another server');
  const checkpoint = { kind: 'checkpoint', id: row.checkpoint_id } as const;
  await copies.holding(checkpoint, async () => {
    await copies.bring(checkpoint, [row.node_id]).catch((error: unknown) => {
      throw placementError(error, false);
    });
    const moved = await db.transaction().execute(async (tx) => {
      await nodes.assertHeld(tx);
      const { numUpdatedRows } = await tx
        .updateTable('sandboxes')
        .set({ node_id: config.nodeId, version: row.version + 1 })
        .where('id', '=', row.id)
        .where('node_id', '=', row.node_id)
        .where('version', '=', row.version)
        .where('state', '=', 'paused')
        .executeTakeFirst();
      if (numUpdatedRows !== 1n) return false;
      await tx
        .updateTable('checkpoints')
        .set({ node_id: config.nodeId })
        .where('id', '=', checkpoint.id)
        .execute();
      return true;
    });
    if (!moved) throw errors.nodeBusy(row.id);
    // It is the original now.
    await forgetCopy(context, checkpoint);
  });
  context.log.info({ sandboxId, fromNodeId: row.node_id }, 'a paused sandbox was taken over');
}

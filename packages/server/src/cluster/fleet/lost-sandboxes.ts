import { recordSystemAct } from '../../api/audit/audit-trail.js';
import { errors } from '../../api/errors/catalog.js';
import { executionData, type KillReason, lifecycleEvent } from '../../sandboxes/events/lifecycle-events.js';
import type { SandboxRow } from '../../sandboxes/state/live.js';
import { fromJson } from '../../storage/json.js';
import type { Uses } from '../context.js';
import { nodeIsSilent } from '../nodes/registry.js';

type Ports = Uses<'config' | 'db' | 'events' | 'ids' | 'log' | 'nodes' | 'now'>;

/** Most sandboxes of lost nodes that are ended in one round. */
const ROUND = 200;

/**
 * Kills a sandbox whose node is silent: deletes its record and emits the event. Should the node come back, it
 * ends the programs.
 * @throws {ApiError} 404; 503 when the node has just come back
 */
export async function killLost(context: Ports, teamId: string, sandboxId: string): Promise<void> {
  if ((await removeLost(context, { id: sandboxId, teamId }, 'request')) !== undefined) return;
  const row = await context.db
    .selectFrom('sandboxes')
    .select('id')
    .where('id', '=', sandboxId)
    .where('team_id', '=', teamId)
    .where('view', '!=', 'hidden')
    .executeTakeFirst();
  throw row === undefined ? errors.sandboxNotFound(sandboxId) : errors.nodeUnreachable();
}

/** Ends sandboxes of silent nodes whose time is over, except those that would be paused: nobody else can do that. */
export async function expireLost(context: Ports): Promise<number> {
  const { db } = context;
  const due = await db
    .selectFrom('sandboxes')
    .select(['id', 'team_id', 'config'])
    .where('state', '=', 'running')
    .where('end_at', '<=', context.now())
    .where('node_id', '!=', context.nodes.nodeId)
    .where(nodeIsSilent)
    .orderBy('end_at')
    .limit(ROUND)
    .execute();
  let ended = 0;
  for (const row of due) {
    if (fromJson(row.config).autoPause) continue;
    if ((await removeLost(context, { id: row.id, teamId: row.team_id }, 'timeout')) !== undefined) ended += 1;
  }
  if (ended > 0)
    context.log.warn({ ended }, 'sandboxes of nodes that are lost were ended: their time is over');
  return ended;
}

/** Removes the row unless its node lives. @returns the row that was */
export async function removeLost(
  context: Ports,
  { id, teamId }: { id: string; teamId: string },
  reason: Extract<KillReason, 'request' | 'timeout' | 'orphaned'>,
): Promise<SandboxRow | undefined> {
  const { db } = context;
  const removed = await db.transaction().execute(async (tx) => {
    const row = await tx
      .deleteFrom('sandboxes')
      .where('id', '=', id)
      .where('team_id', '=', teamId)
      .where(nodeIsSilent)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    await tx.deleteFrom('sandbox_metadata').where('sandbox_id', '=', id).execute();
    // A kill on request has its audit entry already.
    if (reason !== 'request') await recordSystemAct(context, tx, { reason, operation: 'killSandbox' }, row);
    // No client knows of it yet.
    if (row.state !== 'creating')
      await context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.killed', row, {
          ...executionData(row, row.paused_at ?? context.now()),
          kill_reason: reason,
        }),
      );
    return row;
  });
  if (removed !== undefined) context.events.committed();
  return removed;
}

import type { InstanceRecord } from '@svc/runtime/contract';
import type { StartPorts, Uses } from '../context.js';
import { dropCheckpoint } from '../records/checkpoints.js';
import { enforceAdoptedEgress } from '../start/enforce-egress.js';
import { isMoving } from '../state/config.js';
import { newLive, type SandboxRow } from '../state/live.js';
import { settle } from './settle.js';

export interface RecoveryReport {
  adopted: number;
  paused: number;
  removed: number;
  reaped: string[];
}

/**
 * Makes rows and instances agree after the last process of this node ended: it adopts what still runs, finishes what was half
 * made or half killed, and leaves nothing without a record.
 */
export async function recover(context: StartPorts): Promise<RecoveryReport> {
  const records = new Map((await context.driver.list()).map((record) => [record.id, record]));
  const checkpoints = new Set((await context.driver.listCheckpoints()).map((checkpoint) => checkpoint.id));
  const rows = await context.db
    .selectFrom('sandboxes')
    .selectAll()
    .where('node_id', '=', context.config.nodeId)
    .execute();
  const report: RecoveryReport = { adopted: 0, paused: 0, removed: 0, reaped: [] };
  for (const row of rows) {
    try {
      await recoverOne(context, row, records.get(row.id), checkpoints, report);
    } catch (error) {
      context.log.error(
        { err: error, sandboxId: row.id },
        'a sandbox could not be recovered, will be tried again',
      );
      const live = context.sandboxes.get(row.id);
      if (live !== undefined) context.repairs.later(live);
    }
  }
  const known = new Set(rows.map((row) => row.id));
  for (const record of records.values()) if (!known.has(record.id)) await clearAway(context, record);
  try {
    report.reaped = await reapCheckpoints(context, checkpoints);
  } catch (error) {
    context.log.error({ err: error }, 'unused data could not be removed at this start');
  }
  return report;
}

async function recoverOne(
  context: StartPorts,
  row: SandboxRow,
  record: InstanceRecord | undefined,
  checkpoints: Set<string>,
  report: RecoveryReport,
): Promise<void> {
  const live = newLive(row);
  context.sandboxes.set(live);
  const { shared } = context.driver;
  // A sandbox that was about to be taken over when this node's last process died belongs to another node by its record.
  const mayLive = record === undefined ? shared !== undefined : record.state !== 'dead';
  live.instance = mayLive ? await context.driver.adopt(row.id) : undefined;
  if (live.instance !== undefined) await enforceAdoptedEgress(context, row, live.instance);
  if (record !== undefined && live.instance === undefined) await destroyStray(context, record);
  const checkpoint =
    row.checkpoint_id !== null &&
    (checkpoints.has(row.checkpoint_id) || ((await shared?.hasCheckpoint(row.checkpoint_id)) ?? false));
  if (checkpoint && live.instance === undefined && isMoving(row)) {
    // It starts again, which nobody has to wait for.
    context.repairs.later(live);
    report.paused += 1;
    return;
  }
  report[await settle(context, live, { instance: live.instance !== undefined, checkpoint })] += 1;
}

/** Ends an instance that is none of this node's, but for one that another node has taken over. */
async function clearAway(context: Uses<'db' | 'driver' | 'log'>, record: InstanceRecord): Promise<void> {
  const { id } = record;
  const row = await context.db.selectFrom('sandboxes').select('id').where('id', '=', id).executeTakeFirst();
  if (row === undefined) await destroyStray(context, record);
  else await context.driver.shared?.release(id);
}

async function destroyStray(context: Uses<'driver' | 'log'>, record: InstanceRecord): Promise<void> {
  try {
    const instance = await context.driver.adopt(record.id);
    await instance?.destroy();
  } catch (error) {
    context.log.error({ err: error, sandboxId: record.id }, 'an instance of no sandbox could not be ended');
  }
}

/** Removes what no row refers to: interrupted forks and snapshots, and what the driver finds by its labels. */
async function reapCheckpoints(
  context: Uses<'config' | 'db' | 'driver' | 'log' | 'sandboxes'>,
  present: Set<string>,
): Promise<string[]> {
  const rows = await context.db
    .selectFrom('checkpoints')
    .selectAll()
    .where('node_id', '=', context.config.nodeId)
    .execute();
  const wanted = new Set(
    [
      ...(await context.db
        .selectFrom('sandboxes')
        .select('checkpoint_id')
        .where('checkpoint_id', 'is not', null)
        .execute()),
      ...(await context.db
        .selectFrom('template_builds')
        .select('checkpoint_id')
        .where('checkpoint_id', 'is not', null)
        .execute()),
    ].map((row) => row.checkpoint_id!),
  );
  for (const row of rows)
    if (!wanted.has(row.id) || !(await isThere(context, row.id, present)))
      await dropCheckpoint(context, row.id);
  return context.driver.reap({
    instanceIds: [...context.sandboxes.values()]
      .filter((live) => live.instance !== undefined)
      .map((live) => live.row.id),
    checkpointIds: [...wanted],
  });
}

/** On a cluster also the objects of a node that this one has inherited from. While the cluster is unreachable, they count. */
async function isThere({ driver }: Uses<'driver'>, id: string, present: Set<string>): Promise<boolean> {
  return present.has(id) || ((await driver.shared?.hasCheckpoint(id).catch(() => true)) ?? false);
}

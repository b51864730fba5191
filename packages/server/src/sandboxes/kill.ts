import { recordSystemAct } from '../api/audit/audit-trail.js';
import type { SystemReason } from '../api/audit/entry.js';
import type { StopReason } from '../gateway/contract.js';
import type { SandboxPorts } from './context.js';
import { executionData, type KillReason, lifecycleEvent } from './events/lifecycle-events.js';
import { dropCheckpoint } from './records/checkpoints.js';
import { changeRow, removeRow } from './records/rows.js';
import { admit, begin } from './records/transition.js';
import type { LiveSandbox } from './state/live.js';
import { collectLogs } from './telemetry/collect-logs.js';

/** Reasons that clients of the sandbox's open streams get. */
const stopReasons: Partial<Record<KillReason, StopReason>> = {
  request: 'killed',
  admin: 'killed',
  timeout: 'expired',
};

/** Reasons of ends that no client requested. */
const systemReasons: Partial<Record<KillReason, SystemReason>> = {
  timeout: 'timeout',
  unknown: 'ended',
  orphaned: 'orphaned',
};

/** Ends a running or paused sandbox and forgets it. Concurrent calls share the end. @throws {ApiError} 404, 409 */
export async function killSandbox(context: SandboxPorts, teamId: string, sandboxId: string): Promise<void> {
  const admission = await admit(context, teamId, sandboxId, 'kill');
  await (admission.kind === 'join' ? admission.result : killLive(context, admission.live, 'request'));
}

/** Kills a sandbox that is in no transition. */
export function killLive(context: SandboxPorts, live: LiveSandbox, reason: KillReason): Promise<void> {
  return begin(context, live, 'killing', async () => {
    const { row } = live;
    const paused = row.state === 'paused';
    context.sandboxClosed(row.id, stopReasons[reason] ?? 'ended');
    await changeRow(context, live, () => ({ state: 'killing' }));
    await finishKill(context, live, reason, paused ? (row.paused_at ?? context.now()) : context.now());
  });
}

/** The second half, which recovery does again after a crash: the instance goes, then the row. */
export async function finishKill(
  context: SandboxPorts,
  live: LiveSandbox,
  reason: KillReason,
  endedAtMs: number,
): Promise<void> {
  const { row, instance } = live;
  if (instance !== undefined) {
    if (row.paused_at === null) await collectLogs(context, live, { timeoutMs: 1_000 }).catch(() => {});
    await instance.destroy();
    live.instance = undefined;
  }
  const systemReason = systemReasons[reason];
  await removeRow(context, live, async (tx) => {
    await context.events.emit(
      tx,
      lifecycleEvent('sandbox.lifecycle.killed', row, {
        ...executionData(row, endedAtMs),
        kill_reason: reason,
      }),
    );
    if (systemReason !== undefined)
      await recordSystemAct(context, tx, { reason: systemReason, operation: 'killSandbox' }, row);
  });
  if (row.checkpoint_id !== null) await dropCheckpoint(context, row.checkpoint_id);
}

/** Removes the sandbox when its instance ends by itself. */
export function watchInstance(context: SandboxPorts, live: LiveSandbox): void {
  const { instance } = live;
  if (instance === undefined) return;
  void instance.ended.then(async ({ reason }) => {
    if (reason === 'destroyed' || live.instance !== instance || live.deleted || context.signal.aborted)
      return;
    context.log.warn({ sandboxId: live.row.id, reason }, 'the instance of a sandbox ended by itself');
    await live.transition?.result.catch(() => {});
    if (live.instance !== instance || live.deleted || live.transition !== undefined) return;
    await killLive(context, live, 'unknown').catch((error: unknown) => {
      context.repairs.later(live);
      context.log.error(
        { err: error, sandboxId: live.row.id },
        'a sandbox whose instance ended could not be removed',
      );
    });
  });
}

import type { Team } from '../../api/auth/team-store.js';
import { isoTime } from '../../api/wire/time.js';
import type { StartPorts } from '../context.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { changeRow } from '../records/rows.js';
import { admit } from '../records/transition.js';
import { checkTimeout, endFromNow } from '../records/ttl.js';
import type { SandboxRow } from '../state/live.js';
import { resumeLive } from './resume.js';

export interface ConnectOptions {
  team: Team;
  sandboxId: string;
  timeoutSeconds: number;
  /** False: a paused sandbox boots afresh. */
  memory?: boolean | undefined;
}

/**
 * Gives a running sandbox, waking it when it is paused. The time to live of one that runs is only ever extended.
 * @throws {ApiError} 400, 404, 409, 429, 500, 503, 504
 */
export async function connectSandbox(
  context: StartPorts,
  options: ConnectOptions,
): Promise<{ row: SandboxRow; resumed: boolean }> {
  checkTimeout(options.timeoutSeconds, options.team.limits);
  const admission = await admit(context, options.team.id, options.sandboxId, 'connect');
  const { live } = admission;
  if (admission.kind === 'proceed') return { row: await resumeLive(context, live, options), resumed: true };
  if (admission.kind === 'join') await admission.result;
  await changeRow(
    context,
    live,
    (row) => ({
      end_at: Math.max(
        row.end_at,
        endFromNow(options.timeoutSeconds, context.now(), row.started_at, options.team.limits),
      ),
    }),
    (tx, row) =>
      context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.updated', row, { set_timeout: isoTime(row.end_at) }),
      ),
  );
  return { row: live.row, resumed: admission.kind === 'join' };
}

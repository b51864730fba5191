import type { ServerContext } from '../context.js';
import type { Team } from '../teams/team.js';
import { isoTime } from '../wire/time.js';
import { lifecycleEvent } from './lifecycle-events.js';
import { changeRow } from './rows.js';
import { admit } from './transition.js';
import { checkTimeout, endFromNow } from './ttl.js';

/** Least extension, and the one without a duration, seconds. */
const LEAST_SECONDS = 15;

/** Makes a running sandbox live at least `seconds` from now; never shortens. @throws {ApiError} 400, 404, 409 */
export async function refreshSandbox(
  context: ServerContext,
  team: Team,
  sandboxId: string,
  seconds: number | undefined,
): Promise<void> {
  if (seconds !== undefined) checkTimeout(seconds, team.limits);
  const { live } = await admit(context, team.id, sandboxId, 'update');
  const wanted = Math.max(seconds ?? LEAST_SECONDS, LEAST_SECONDS);
  await changeRow(
    context,
    live,
    (row) => ({
      end_at: Math.max(row.end_at, endFromNow(wanted, context.now(), row.started_at, team.limits)),
    }),
    (tx, row) =>
      context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.updated', row, { set_timeout: isoTime(row.end_at) }),
      ),
  );
}

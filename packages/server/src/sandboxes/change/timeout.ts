import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { isoTime } from '../../api/wire/time.js';
import type { RowPorts, Uses } from '../context.js';
import { lifecycleEvent } from '../events/lifecycle-events.js';
import { changeRow } from '../records/rows.js';
import { admit } from '../records/transition.js';
import { checkTimeout, endFromNow } from '../records/ttl.js';

/** Sets the end of a running sandbox to `seconds` from now, no later than the team's longest run. @throws {ApiError} 400, 404, 409 */
export async function setSandboxTimeout(
  context: RowPorts & Uses<'now'>,
  team: Team,
  sandboxId: string,
  seconds: number,
): Promise<void> {
  checkTimeout(seconds, team.limits);
  const { live } = await admit(context, team.id, sandboxId, 'update');
  const now = context.now();
  if (now - live.row.started_at >= team.limits.maxTimeToLiveSeconds * 1000) throw errors.maxLifeExceeded();
  await changeRow(
    context,
    live,
    (row) => ({ end_at: endFromNow(seconds, now, row.started_at, team.limits) }),
    (tx, row) =>
      context.events.emit(
        tx,
        lifecycleEvent('sandbox.lifecycle.updated', row, { set_timeout: isoTime(row.end_at) }),
      ),
  );
}

/** Least extension, and the one without a duration, seconds. */
const LEAST_SECONDS = 15;

/** Makes a running sandbox live at least `seconds` from now; never shortens. @throws {ApiError} 400, 404, 409 */
export async function refreshSandbox(
  context: RowPorts & Uses<'now'>,
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

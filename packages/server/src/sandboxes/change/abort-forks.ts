import { ApiError } from '../../api/errors/api-error.js';
import type { SandboxPorts, Uses } from '../context.js';
import { killLive } from '../kill.js';
import { findLive } from '../records/rows.js';
import { admit } from '../records/transition.js';
import { configOf } from '../state/config.js';

/** A fork that could not be ended is tried again after 1 s first, and so often at least, ms. */
const MAX_DELAY_MS = 60_000;

type Ports = SandboxPorts & Uses<'retries'>;

/**
 * Ends forks of this node that no answer named, in any state: at once, and again until they are deleted.
 * Others that these ids may name stay. Settles after the first try.
 */
export async function abortForks(context: Ports, sandboxIds: readonly string[]): Promise<void> {
  await Promise.all(
    sandboxIds.map(async (id) => {
      try {
        await endFork(context, id);
      } catch (error) {
        context.log.warn(
          { err: error, sandboxId: id },
          'a fork without an answer could not be ended, will be tried again',
        );
        context.retries.add(`end fork ${id}`, () => endFork(context, id), { maxDelayMs: MAX_DELAY_MS });
      }
    }),
  );
}

async function endFork(context: SandboxPorts, id: string): Promise<void> {
  const live = await findLive(context, id);
  if (live === undefined || configOf(live.row).forkedFrom === undefined) return;
  try {
    const admission = await admit(context, live.row.team_id, id, 'kill');
    await (admission.kind === 'join' ? admission.result : killLive(context, admission.live, 'orphaned'));
  } catch (error) {
    if (!ApiError.is(error) || error.status !== 404) throw error;
  }
}

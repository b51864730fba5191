import type { NodeRecord } from '../../api/context/nodes.js';
import { storeSandbox } from '../../sandboxes/change/pause.js';
import { resumeMoved } from '../../sandboxes/change/resume-moved.js';
import { forget, release } from '../../sandboxes/records/rows.js';
import { begin } from '../../sandboxes/records/transition.js';
import type { LiveSandbox } from '../../sandboxes/state/live.js';
import { type MovePorts, offerOf } from './move-sandbox.js';
import { offer } from './offer.js';

/** Least time for which a running sandbox stands still for one node that is to take it over, ms: then it continues. */
const STOPPED_MS = 60_000;

/**
 * Moves a running sandbox that is in no transition to another node: it is stored with its memory, its row says that it is to be resumed,
 * then one of the nodes takes it over, or else it is resumed here. It keeps its place among the running ones all the time. An interruption is
 * repaired, after a crash by the recovery of the node that has the row.
 * @param signal aborts: no further node is asked, and it is resumed here
 * @returns where it went, or why nobody took it
 */
export function moveRunning(
  context: MovePorts,
  live: LiveSandbox,
  nodes: readonly NodeRecord[],
  signal: AbortSignal,
): Promise<{ node: NodeRecord } | { node: undefined; refusals: string[] }> {
  return begin(
    context,
    live,
    'resuming',
    async () => {
      await storeSandbox(context, live, true, { moving: true });
      // Should this break off, its row may be another's by then.
      live.stale = true;
      const asked = { nodes, leastMs: STOPPED_MS, ...(await offerOf(context, live.row)), signal };
      const offered = await offer(context, asked);
      if (offered.node !== undefined) {
        forget(context, live);
        return offered;
      }
      // Reads the row again first.
      await resumeMoved(context, live);
      return offered;
    },
    { moving: true },
  ).finally(() => release(context, live));
}

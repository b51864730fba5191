import type { StartPorts } from '../context.js';
import { begin } from '../records/transition.js';
import { governAdopted } from '../start/govern.js';
import { newLive, type SandboxRow } from '../state/live.js';
import { shownDuringRepair } from './repairs.js';
import { settle } from './settle.js';

/**
 * Takes hold of a sandbox whose row has just become this node's. Until that is done nobody may ask for it. What fails is made
 * good by a repair; never rejects.
 * @param checkpoint whether the stored state that the row names is whole
 */
export async function adoptSandbox(context: StartPorts, row: SandboxRow, checkpoint: boolean): Promise<void> {
  const live = newLive(row);
  try {
    live.instance = await context.driver.adopt(row.id);
    if (live.instance !== undefined) await governAdopted(context, row, live.instance);
    context.sandboxes.set(live);
    const found = { instance: live.instance !== undefined, checkpoint };
    await begin(context, live, shownDuringRepair[row.state], () => settle(context, live, found));
  } catch (error) {
    context.log.error(
      { err: error, sandboxId: row.id },
      'a sandbox could not be adopted, will be tried again',
    );
    live.instance = undefined;
    context.sandboxes.set(live);
    context.repairs.later(live);
  }
}

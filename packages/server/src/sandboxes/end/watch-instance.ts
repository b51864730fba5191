import type { SandboxPorts } from '../context.js';
import type { LiveSandbox } from '../state/live.js';
import { killHeld } from './kill.js';

/** Removes the sandbox when its instance ends by itself. */
export function watchInstance(context: SandboxPorts, live: LiveSandbox): void {
  const { instance } = live;
  if (instance === undefined) return;
  void instance.ended.then(async ({ reason }) => {
    if (reason === 'destroyed' || live.instance !== instance || live.gone || context.signal.aborted) return;
    context.log.warn({ sandboxId: live.row.id, reason }, 'the instance of a sandbox ended by itself');
    await live.transition?.result.catch(() => {});
    if (live.instance !== instance || live.gone || live.transition !== undefined) return;
    await killHeld(context, live, 'unknown').catch((error: unknown) => {
      context.repairs.later(live);
      context.log.error(
        { err: error, sandboxId: live.row.id },
        'a sandbox whose instance ended could not be removed',
      );
    });
  });
}

import type { SandboxPorts } from '../context.js';
import { killLive } from '../kill.js';
import { configOf } from '../state/config.js';
import type { LiveSandbox } from '../state/live.js';
import { pauseLive } from './pause.js';

/** Most sandboxes that end at the same time. */
const CONCURRENCY = 8;
/** Delay before the end of a sandbox is tried again after a failure, ms. */
const RETRY_MS = 1_000;

/**
 * Pauses or kills every running sandbox whose time is over. Those in transition are looked at again next time.
 * @returns how many were due.
 */
export async function expireDue(context: SandboxPorts): Promise<number> {
  const now = context.now();
  const due = [...context.sandboxes.values()].filter(
    (live) =>
      live.row.state === 'running' &&
      live.transition === undefined &&
      live.row.end_at <= now &&
      live.retryAt <= now,
  );
  for (let at = 0; at < due.length; at += CONCURRENCY)
    await Promise.all(due.slice(at, at + CONCURRENCY).map((live) => expire(context, live)));
  return due.length;
}

async function expire(context: SandboxPorts, live: LiveSandbox): Promise<void> {
  // Its end may have moved, or another operation begun, while others were ended.
  if (
    live.transition !== undefined ||
    live.deleted ||
    live.row.state !== 'running' ||
    live.row.end_at > context.now()
  )
    return;
  const config = configOf(live.row);
  try {
    if (config.autoPause) {
      const paused = await pauseLive(context, live, config.autoPauseMemory, { timedOut: true }).then(
        () => true,
        (error: unknown) => {
          context.log.error(
            { err: error, sandboxId: live.row.id },
            'a sandbox whose time is over could not be paused',
          );
          return false;
        },
      );
      if (paused || live.transition !== undefined) return;
      // Better asked again in a while than killed: its owner wanted it kept.
      live.row = { ...live.row, end_at: context.now() + 60_000 };
      return;
    }
    await killLive(context, live, 'timeout');
  } catch (error) {
    live.retryAt = context.now() + RETRY_MS;
    context.log.error(
      { err: error, sandboxId: live.row.id },
      'a sandbox whose time is over could not be ended',
    );
  }
}

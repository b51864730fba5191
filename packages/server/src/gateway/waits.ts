import { setTimeout as sleep } from 'node:timers/promises';
import { anyOf } from '#support/any-of';
import type { GatewayDeps, Route } from './contract.js';

/** Waits, or less when the signal fires. Never rejects. */
export const pause = (durationMs: number, signal?: AbortSignal): Promise<void> =>
  sleep(durationMs, undefined, { signal }).catch(() => undefined);

/** Waits until a sandbox is out of transition, or the signal fires. Returns its route as it then is. */
export async function waitUntilSettled(
  deps: Pick<GatewayDeps, 'findRoute' | 'settled'>,
  sandboxId: string,
  signal: AbortSignal,
): Promise<Route | undefined> {
  for (;;) {
    if (deps.settled) {
      const stopped = new AbortController();
      await Promise.race([deps.settled(sandboxId, signal), pause(2 ** 30, anyOf([signal, stopped.signal]))])
        .catch(() => undefined)
        .finally(() => stopped.abort());
    }
    const route = await deps.findRoute(sandboxId);
    if (route?.state !== 'transition' || signal.aborted) return route;
    await pause(50, signal);
  }
}

import { exchange } from '@svc/daemon/dial';
import { anyOf } from '#support/any-of';
import type { Route } from './contract.js';

export interface SilenceOptions {
  /** Returns the sandbox as it is now; undefined when it was deleted. */
  findRoute: () => Promise<Route | undefined> | Route | undefined;
  /** Port of the daemon. */
  port: number;
  /** Time without the head of an answer after which the daemon is asked whether it is healthy, and between questions, ms. */
  waitMs: number;
  /** Longest that the daemon may take to say so, ms. */
  probeMs: number;
  /** Called once when the daemon of a running sandbox did not answer twice in a row. */
  onSilent: () => void;
}

/** Unanswered probes after which the request is given up. One alone may have met the end of a snapshot. */
const PROBES = 2;

/**
 * Watches a request to the daemon that has no answer yet. A healthy daemon may take as long as it likes, a sandbox in
 * transition is waited for; a daemon that does not answer `GET /health` on another connection either has died or stands
 * still, and nobody else would ever end the request.
 * @returns a function that ends the watch.
 */
export function watchSilence(options: SilenceOptions): () => void {
  const { findRoute, port, waitMs, probeMs, onSilent } = options;
  const over = new AbortController();
  let unanswered = 0;
  const look = async (): Promise<void> => {
    const before = await findRoute();
    // A pause or kill of the sandbox ends its requests.
    const healthy = before?.state !== 'running' || (await isHealthy(before, port, probeMs, over.signal));
    const after = await findRoute();
    if (over.signal.aborted) return;
    const same = after?.state === 'running' && after.instanceKey === before?.instanceKey;
    unanswered = healthy || !same ? 0 : unanswered + 1;
    if (unanswered < PROBES) return lookIn(unanswered > 0 ? 0 : waitMs);
    over.abort();
    onSilent();
  };
  let timer: NodeJS.Timeout;
  const lookIn = (delayMs: number): void => {
    timer = setTimeout(() => void look().catch(() => lookIn(waitMs)), delayMs);
    timer.unref();
  };
  lookIn(waitMs);
  return () => {
    clearTimeout(timer);
    over.abort();
  };
}

/** Returns whether the daemon answers on a connection of its own. Any answer will do: a living process gave it. */
function isHealthy(route: Route, port: number, probeMs: number, ended: AbortSignal): Promise<boolean> {
  const signal = anyOf([AbortSignal.timeout(probeMs), ended]);
  return exchange((dialing) => route.dial(port, dialing), { method: 'GET', path: '/health' }, signal).then(
    (answer) => {
      answer.destroy();
      return true;
    },
    () => false,
  );
}

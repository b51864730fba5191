import type { EgressReport } from '@svc/egress';
import type { EgressPolicy } from '@svc/network-policy';
import type { Uses } from '../context.js';
import { ForwardedDelta, RareReports, RefusedDelta, SentDelta } from './packet-deltas.js';
import type { TrafficObserver } from './start-egress.js';

/** Least interval between two readings of the driver, ms. */
const LOOK_EVERY_MS = 1_000;
/** And so many times as long as the last one took: with hundreds of sandboxes that send to many places it is some work. */
const PAUSE = 10;
/** Least interval between two lines in the log of a sandbox about one reason, ms. */
const LOG_EVERY_MS = 60_000;

/**
 * Counts what the driver's network did without the egress process, as that process's doings are counted: what it refused, of
 * with a line in the sandbox's log, what it forwarded, and for the usage of teams all that left.
 * @returns looks for what is new
 */
export function packetCounter(
  context: () => Uses<'config' | 'driver' | 'now'>,
  {
    count,
    observer,
    policyOf,
  }: {
    count(report: EgressReport): void;
    observer: TrafficObserver;
    /** The policy of a sandbox that this server has. */
    policyOf(sandboxId: string): EgressPolicy | undefined;
  },
): () => Promise<void> {
  const fresh = new RefusedDelta();
  const rare = new RareReports(LOG_EVERY_MS);
  const forwarded = new ForwardedDelta({
    policyOf,
    get allowRanges() {
      return context().config.egress.allowRanges;
    },
  });
  const sent = new SentDelta();
  let nextMs = -Infinity;
  let last = Promise.resolve();
  const look = async (): Promise<void> => {
    const { driver, now } = context();
    if (driver.sentBytes !== undefined)
      for (const { instanceId, bytes } of sent.take(await driver.sentBytes()))
        observer.onSent(instanceId, bytes);
    if (driver.refusedPackets !== undefined) {
      const reports = fresh.take(await driver.refusedPackets(), new Date(now()));
      for (const report of reports) count(report);
      await observer.onDenied(rare.pick(reports, now()));
    }
    if (driver.forwardedTraffic !== undefined)
      for (const report of forwarded.take(await driver.forwardedTraffic(), new Date(now()))) count(report);
  };
  const timed = async (): Promise<void> => {
    nextMs = Infinity;
    const beganMs = performance.now();
    try {
      await look();
    } finally {
      const endedMs = performance.now();
      nextMs = Math.max(beganMs + LOOK_EVERY_MS, endedMs + PAUSE * (endedMs - beganMs));
    }
  };
  return () => {
    if (performance.now() >= nextMs) last = timed();
    return last;
  };
}

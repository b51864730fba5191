import type { EgressReport } from '@svc/egress';
import type { Uses } from '../context/context.js';
import { logDenied } from './log-denied.js';
import { NewRefusals, RareReports } from './new-refusals.js';

/** Between two looks at the driver, ms, however often it is asked for. */
const LOOK_EVERY_MS = 1_000;
/** Between two lines in the log of a sandbox about one reason, ms. */
const LOG_EVERY_MS = 60_000;

/**
 * Counts what the driver's network refused, as denials of the egress process are counted, and tells of it in the logs.
 * @returns looks for what is new
 */
export function refusalCounter(
  context: () => Uses<'config' | 'db' | 'driver' | 'log' | 'now' | 'sandboxes'>,
  count: (report: EgressReport) => void,
): () => Promise<void> {
  const fresh = new NewRefusals();
  const rare = new RareReports(LOG_EVERY_MS);
  let last = { beganMs: -Infinity, done: Promise.resolve() };
  const look = async (): Promise<void> => {
    const { driver, now } = context();
    if (driver.refusedPackets === undefined) return;
    const reports = fresh.take(await driver.refusedPackets(), new Date(now()));
    for (const report of reports) count(report);
    await logDenied(context(), rare.pick(reports, now()));
  };
  return () => {
    const nowMs = performance.now();
    if (nowMs - last.beganMs < LOOK_EVERY_MS) return last.done;
    last = { beganMs: nowMs, done: last.done.catch(() => undefined).then(look) };
    return last.done;
  };
}

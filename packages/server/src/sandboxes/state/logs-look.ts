/** When to look for new log lines of a sandbox by itself. Who reads its logs gets the newest at any time. */
export interface LogsLook {
  /** Not before, ms since the epoch. */
  notBefore: number;
  /** At the latest, ms since the epoch; earlier where the sandbox did something. */
  at: number;
  /** The last wait, ms: twice as long after each look that found nothing. */
  waitMs: number;
  /** Up to where the lines were taken over then, as the daemon counts them. Undefined when it gave none. */
  cursor: number | undefined;
  /** Processor time that the sandbox had used at the last look, µs. */
  cpuUsageUs: number;
}

/** Pause after a daemon gave no logs, ms: it must not delay the others. */
const RETRY_MS = 30_000;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 30_000;
/** Upper bound for a daemon that only answered the last look. */
const IDLE_CPU_US = 4_000;

export function isDue(look: LogsLook | undefined, now: number, cpuUsageUs: number): boolean {
  if (look === undefined) return true;
  if (now < look.notBefore) return false;
  const used = cpuUsageUs - look.cpuUsageUs;
  // Less than before: it was booted anew.
  return now >= look.at || used > IDLE_CPU_US || used < 0;
}

/** The next look after one that took the lines up to `cursor`, or failed. */
export function nextLook(
  last: LogsLook | undefined,
  cursor: number | undefined,
  now: number,
  cpuUsageUs: number,
): LogsLook {
  if (cursor === undefined)
    return { notBefore: now + RETRY_MS, at: now + RETRY_MS, waitMs: 0, cursor, cpuUsageUs };
  const foundNothing = cursor === (last?.cursor ?? 0);
  const waitMs = foundNothing
    ? Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, 2 * (last?.waitMs ?? 0)))
    : 0;
  return { notBefore: now, at: now + waitMs, waitMs, cursor, cpuUsageUs };
}

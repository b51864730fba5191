import { setTimeout as sleep } from 'node:timers/promises';
import { DriverError } from '../contract/errors.js';
import { askDaemon } from './ask-daemon.js';
import type { Dial } from './dial.js';

const FIRST_RETRY_MS = 2;
const LAST_RETRY_MS = 50;
/** One probe may hang on a daemon that listens but is still busy; ask again on a fresh connection. */
const PROBE_TIMEOUT_MS = 5_000;

export interface Deadline {
  /** How long to wait in all, ms. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Gives a sentence when waiting is pointless, e.g. the process ended. Asked before each probe. */
  gaveUp?: (() => string | undefined) | undefined;
}

/**
 * Settles once `GET /health` answers 204 over a connection of `dial`.
 * @throws {DriverError} `timeout` when the deadline passes, `instance_gone` when `gaveUp` says so. An abort rejects with
 * the signal's reason.
 */
export async function waitForDaemon(dial: Dial, deadline: Deadline): Promise<void> {
  const limit = AbortSignal.timeout(deadline.timeoutMs);
  const signal = deadline.signal === undefined ? limit : AbortSignal.any([limit, deadline.signal]);
  let delayMs = FIRST_RETRY_MS;
  let last: unknown;
  for (;;) {
    const reason = deadline.gaveUp?.();
    if (reason !== undefined) throw new DriverError('instance_gone', reason, { cause: last });
    try {
      if ((await probeHealth(dial, signal)) === 204) return;
    } catch (error) {
      last = error;
    }
    try {
      await sleep(delayMs, undefined, { signal });
    } catch {
      if (deadline.signal?.aborted) throw deadline.signal.reason;
      throw new DriverError('timeout', `The daemon did not answer within ${deadline.timeoutMs} ms.`, {
        cause: last,
        detail: last instanceof Error ? last.message : undefined,
      });
    }
    delayMs = Math.min(delayMs * 2, LAST_RETRY_MS);
  }
}

/** One `GET /health`; gives the status. */
async function probeHealth(dial: Dial, signal: AbortSignal): Promise<number> {
  const { status } = await askDaemon(
    dial,
    { method: 'GET', path: '/health' },
    {
      signal: AbortSignal.any([AbortSignal.timeout(PROBE_TIMEOUT_MS), signal]),
      maxBytes: 0,
      enough: () => true,
    },
  );
  return status;
}

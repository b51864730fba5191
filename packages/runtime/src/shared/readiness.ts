import { setTimeout as sleep } from 'node:timers/promises';
import { askDaemon } from '@svc/daemon/dial';
import { anyOf } from '#support/any-of';
import { DriverError } from '../contract/errors.js';
import type { Dial } from './dial.js';

const FIRST_RETRY_MS = 2;
/** The first probes find a daemon that was restored. One that starts needs 50 ms or more: from then on this is enough. */
const RETRY_MS = 8;
const LAST_RETRY_MS = 50;
/** One probe may hang on a daemon that listens but is still busy; ask again on a fresh connection. */
const PROBE_TIMEOUT_MS = 5_000;
const WARM_TIMEOUT_MS = 5_000;
const WARM_INITS = 4;
const MAX_REFUSAL_BYTES = 4_096;
/** Sets nothing. */
const EMPTY_INIT = {
  method: 'POST',
  path: '/init',
  headers: { 'Content-Type': 'application/json' },
  body: '{}',
} as const;

export interface Deadline {
  /** The time to wait in all, ms. */
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
  const signal = deadline.signal === undefined ? limit : anyOf([limit, deadline.signal]);
  const since = performance.now();
  let delayMs = FIRST_RETRY_MS;
  let last: unknown;
  for (;;) {
    const reason = deadline.gaveUp?.();
    if (reason !== undefined) throw new DriverError('instance_gone', reason, { cause: last });
    try {
      const probe = anyOf([AbortSignal.timeout(PROBE_TIMEOUT_MS), signal]);
      if ((await getHealth(dial, probe)) === 204) return;
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
    delayMs = nextDelay(delayMs, performance.now() - since);
  }
}

/** So that an answer is at most a quarter of the start late: doubling alone asked at 62 and then at 112 ms. Pure. */
export function nextDelay(delayMs: number, passedMs: number): number {
  return Math.min(delayMs * 2, Math.max(RETRY_MS, passedMs / 4), LAST_RETRY_MS);
}

/**
 * Has the daemon go through what its first caller will ask for, so that the memory for it is there. The answers do not matter, so
 * it never rejects.
 * @param timeoutMs the longest that it may take. Default 5000.
 */
export async function warmDaemon(dial: Dial, timeoutMs = WARM_TIMEOUT_MS): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    for (let round = 0; round < WARM_INITS; round++)
      await askDaemon(dial, EMPTY_INIT, { signal, maxBytes: MAX_REFUSAL_BYTES });
  } catch {
    // Its first caller gets the error.
  }
}

/** One `GET /health`; gives the status. */
async function getHealth(dial: Dial, signal: AbortSignal): Promise<number> {
  const { status } = await askDaemon(dial, { method: 'GET', path: '/health' }, { signal, maxBytes: 0 });
  return status;
}

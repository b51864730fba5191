import { connectionRefused, connectionReset } from '../answers/network-errors.js';
import { Refusal } from '../answers/refusal.js';
import type { TestClock } from '../clock/test-clock.js';
import type { TestSandbox } from '../sandboxes/test-sandbox.js';
import type { Fault } from './fault-list.js';

/** Lets the time of a fault pass, and does to its sandbox what it says. */
export async function befall(
  fault: Fault,
  { clock, sandbox, signal }: { clock: TestClock; sandbox: TestSandbox | undefined; signal: AbortSignal },
): Promise<void> {
  const { latencyMs = 0, realTime = false } = fault;
  if (latencyMs > 0) await (realTime ? realDelay(latencyMs, signal) : clock.sleep(latencyMs, signal));
  if (fault.sandbox !== undefined) sandbox?.stop(fault.sandbox === 'crashed' ? 'ended' : fault.sandbox);
}

/** The failure that a fault answers with; undefined when the request continues. @throws what the network would */
export function refusalOf(fault: Fault): Refusal | undefined {
  const { status, message, errorCode, connection, carriedOut } = fault;
  if (connection === 'refused') throw connectionRefused();
  if (connection === 'reset' && carriedOut !== true) throw connectionReset();
  if (status === undefined) return undefined;
  const { retryAfterSeconds = status === 429 ? 0 : undefined } = fault;
  const headers = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
  const text = message ?? (status === 429 ? 'Rate limit exceeded' : `A fault of the test: status ${status}`);
  return new Refusal(status, text, {
    headers: headers as Record<string, string>,
    ...(errorCode && { errorCode }),
  });
}

function realDelay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

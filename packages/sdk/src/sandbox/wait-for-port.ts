import type { ClientCore } from '../calls/client-core.js';
import { readText } from '../calls/read-text.js';
import { Deadline, sleep } from '../core/deadline.js';
import type { DaemonTarget } from '../daemon/target.js';
import { TimeoutError } from '../errors/connection-errors.js';
import { errorFromAnswer } from '../errors/from-answer.js';
import { fetchPort } from './ports.js';

/** Options for waiting for a service inside a sandbox. */
export interface WaitForPortOptions {
  /** Longest wait, ms. 0: none. Default 60 000. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const operation = 'sandbox.waitForPort';
const defaultLimitMs = 60_000;
const firstDelayMs = 25;
const longestDelayMs = 500;

/** Asks again until something accepts connections on a port. */
export async function waitForPort(
  core: ClientCore,
  target: DaemonTarget,
  port: number,
  options: WaitForPortOptions,
): Promise<void> {
  const deadline = new Deadline({
    signal: options.signal,
    timeoutMs: options.timeoutMs ?? defaultLimitMs,
    onTimeout: (limitMs) =>
      new TimeoutError(
        `${operation}: nothing listened on port ${port} within ${limitMs} ms. Check that the program started, or raise timeoutMs.`,
        { option: 'timeoutMs', limitMs, operation },
      ),
  });
  try {
    await deadline.run(async (signal) => {
      for (let delayMs = firstDelayMs; ; delayMs = Math.min(longestDelayMs, 2 * delayMs)) {
        if (await answers(core, target, port, signal)) return;
        await sleep(delayMs, signal);
      }
    });
  } finally {
    deadline.release();
  }
}

/** Returns true when something listens. @throws the error of the table when the gateway refuses for another reason */
async function answers(
  core: ClientCore,
  target: DaemonTarget,
  port: number,
  signal: AbortSignal,
): Promise<boolean> {
  const init = { method: 'HEAD', signal, requestTimeoutMs: 0 } as const;
  const { status } = await fetchPort(core, target, port, '/', init);
  // The gateway's own answers have these; which of them it is, or whether it is the service's, only a body says.
  if (status !== 502 && status !== 403 && status !== 409 && status !== 429) return true;
  const response = await fetchPort(core, target, port, '/', { ...init, method: 'GET' });
  const { headers } = response;
  const body = await readText(response, operation)
    .then((text): unknown => JSON.parse(text))
    .catch(() => undefined);
  const record = body as { sandboxId?: unknown; message?: unknown; code?: unknown } | undefined;
  if (record?.sandboxId !== target.sandboxId || record.code !== response.status) return true;
  if (response.status === 409 || /is not open/.test(String(record.message))) return false;
  throw errorFromAnswer({
    status: response.status,
    headers,
    body,
    service: 'sandbox',
    operation,
    resource: 'sandbox',
    nowMs: Date.now(),
  });
}

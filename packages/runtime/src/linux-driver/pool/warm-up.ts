import { askDaemon, type DaemonRequest } from '../../shared/ask-daemon.js';
import type { Dial } from '../../shared/dial.js';

const WARM_UP_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 64 * 1024;

/** A program that does nothing, as a Connect stream's envelope: flags, length, JSON. */
const NOTHING = JSON.stringify({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }, stdin: false });

/**
 * Makes the daemon load what its first caller would otherwise wait for: by its own rehearsal, then by running a program
 * that does nothing. Whatever the answers are does not matter.
 * @param timeoutMs for each of the two. Default 5000.
 */
export async function warmUp(dial: Dial, timeoutMs = WARM_UP_TIMEOUT_MS): Promise<void> {
  await exchange(dial, timeoutMs, { method: 'GET', path: '/health?warm=1' });
  const body = Buffer.alloc(5 + NOTHING.length);
  body.writeUInt32BE(NOTHING.length, 1);
  body.write(NOTHING, 5);
  await exchange(dial, timeoutMs, {
    method: 'POST',
    path: '/process.Process/Start',
    headers: {
      'content-type': 'application/connect+json',
      'connect-protocol-version': '1',
      authorization: `Basic ${Buffer.from('user:').toString('base64')}`,
    },
    body,
  });
}

/** One request; over when its answer is, or cannot come. */
async function exchange(dial: Dial, timeoutMs: number, request: DaemonRequest): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  await askDaemon(dial, request, { signal, maxBytes: MAX_ANSWER_BYTES }).catch(() => undefined);
}

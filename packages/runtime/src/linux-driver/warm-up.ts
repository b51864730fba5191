import { type OutgoingHttpHeaders, type RequestOptions, request } from 'node:http';
import type { Dial } from '../shared/dial.js';

const WARM_UP_TIMEOUT_MS = 5_000;

/** A program that does nothing, as a Connect stream's envelope: flags, length, JSON. */
const NOTHING = JSON.stringify({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }, stdin: false });

/**
 * Makes the daemon load what its first caller would otherwise wait for: by its own rehearsal, then by running a program
 * that does nothing. Whatever the answers are does not matter.
 */
export async function warmUp(dial: Dial): Promise<void> {
  await exchange(dial, { path: '/health?warm=1' });
  const body = Buffer.alloc(5 + NOTHING.length);
  body.writeUInt32BE(NOTHING.length, 1);
  body.write(NOTHING, 5);
  await exchange(
    dial,
    {
      method: 'POST',
      path: '/process.Process/Start',
      headers: {
        'content-type': 'application/connect+json',
        'connect-protocol-version': '1',
        authorization: `Basic ${Buffer.from('user:').toString('base64')}`,
      },
    },
    body,
  );
}

/** One request on a connection of its own; over when its answer is, or cannot come. */
async function exchange(dial: Dial, options: RequestOptions, body?: Buffer): Promise<void> {
  const signal = AbortSignal.timeout(WARM_UP_TIMEOUT_MS);
  const socket = await dial(signal);
  await new Promise<void>((resolve) => {
    const headers = { connection: 'close', host: 'daemon', ...(options.headers as OutgoingHttpHeaders) };
    const sent = request({ ...options, headers, createConnection: () => socket, signal }, (response) => {
      response.once('error', () => resolve());
      response.once('close', resolve);
      response.resume();
    });
    sent.once('error', () => resolve());
    sent.end(body);
  });
  socket.destroy();
}

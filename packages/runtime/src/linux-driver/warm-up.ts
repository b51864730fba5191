import { request } from 'node:http';
import type { Dial } from '../shared/dial.js';

const WARM_UP_TIMEOUT_MS = 5_000;

/** A program that does nothing, as a Connect stream's envelope: flags, length, JSON. */
const NOTHING = JSON.stringify({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }, stdin: false });

/**
 * Makes the daemon load what its first caller would otherwise wait for, by running a program that does nothing.
 * Whatever the answer is does not matter.
 */
export async function warmUp(dial: Dial): Promise<void> {
  await rehearse(dial);
  const body = Buffer.alloc(5 + NOTHING.length);
  body.writeUInt32BE(NOTHING.length, 1);
  body.write(NOTHING, 5);
  const signal = AbortSignal.timeout(WARM_UP_TIMEOUT_MS);
  const socket = await dial(signal);
  await new Promise<void>((resolve) => {
    const sent = request(
      {
        method: 'POST',
        path: '/process.Process/Start',
        headers: {
          connection: 'close',
          host: 'daemon',
          'content-type': 'application/connect+json',
          'connect-protocol-version': '1',
          authorization: `Basic ${Buffer.from('user:').toString('base64')}`,
        },
        createConnection: () => socket,
        signal,
      },
      (response) => {
        response.once('error', () => resolve());
        response.once('close', resolve);
        response.resume();
      },
    );
    sent.once('error', () => resolve());
    sent.end(body);
  });
  socket.destroy();
}

/** Waits for the daemon's own rehearsal of what its first callers will ask for. */
async function rehearse(dial: Dial): Promise<void> {
  const signal = AbortSignal.timeout(WARM_UP_TIMEOUT_MS);
  const socket = await dial(signal);
  await new Promise<void>((resolve) => {
    const sent = request(
      {
        path: '/health?warm=1',
        headers: { connection: 'close', host: 'daemon' },
        createConnection: () => socket,
        signal,
      },
      (response) => {
        response.once('close', resolve);
        response.resume();
      },
    );
    sent.once('error', () => resolve());
    sent.end();
  });
  socket.destroy();
}

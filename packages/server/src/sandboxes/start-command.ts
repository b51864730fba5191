import http from 'node:http';
import type { Instance } from '@svc/runtime';
import { DAEMON_PORT, DaemonAnswerError } from './daemon-control.js';
import { IN_LOGIN_SHELL } from './login-shell.js';

/**
 * Launches a template's start command through the daemon and leaves it running: resolves at its start event.
 * @wire process.Process/Start
 */
export async function startCommandOf(
  instance: Instance,
  command: string,
  options: { token: string; signal: AbortSignal },
): Promise<void> {
  const message = Buffer.from(
    JSON.stringify({
      process: { cmd: '/bin/sh', args: ['-c', IN_LOGIN_SHELL, 'sh', command] },
      tag: 'start-command',
      stdin: false,
    }),
  );
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, 5);
  const socket = await instance.dial(DAEMON_PORT, { signal: options.signal });
  try {
    await new Promise<void>((resolve, reject) => {
      const request = http.request(
        {
          method: 'POST',
          path: '/process.Process/Start',
          host: 'sandbox',
          createConnection: () => socket as never,
          headers: {
            'Content-Type': 'application/connect+json',
            'Connect-Protocol-Version': '1',
            'X-Access-Token': options.token,
            'Content-Length': frame.length,
          },
          signal: options.signal,
        },
        (response) => {
          response.on('error', reject);
          if (response.statusCode !== 200) {
            reject(new DaemonAnswerError('the start command', response.statusCode ?? 0));
            return;
          }
          // The first frame is the start event, or the end of the stream when the command could not start.
          response.once('data', (chunk: Buffer) =>
            ((chunk[0] ?? 0) & 2) === 0 ? resolve() : reject(new DaemonAnswerError('the start command', 500)),
          );
          response.once('end', () => reject(new DaemonAnswerError('the start command', 500)));
        },
      );
      request.on('error', reject);
      request.end(frame);
    });
  } finally {
    socket.destroy();
  }
}

import { askDaemon, type Instance } from '@svc/runtime';
import { DAEMON_PORT, DaemonAnswerError } from './daemon-control.js';
import { IN_LOGIN_SHELL } from './login-shell.js';

/** One read of a connection is 64 KiB. */
const MAX_FIRST_BYTES = 128 * 1024;
const END_OF_STREAM = 2;

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
  const { status, body } = await askDaemon(
    (signal) => instance.dial(DAEMON_PORT, { signal }),
    {
      method: 'POST',
      path: '/process.Process/Start',
      headers: {
        'Content-Type': 'application/connect+json',
        'Connect-Protocol-Version': '1',
        'X-Access-Token': options.token,
      },
      body: frame,
    },
    {
      signal: options.signal,
      maxBytes: MAX_FIRST_BYTES,
      // The first frame is the start event, or the end of the stream when the command could not start: its flags tell.
      enough: (answered, received) => answered !== 200 || received.length > 0,
    },
  );
  if (status !== 200) throw new DaemonAnswerError('the start command', status);
  if (body.length === 0 || (body[0]! & END_OF_STREAM) !== 0)
    throw new DaemonAnswerError('the start command', 500);
}

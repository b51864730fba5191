import { createDaemonClient } from '@svc/daemon';
import { createDialTransport } from '@svc/daemon/dial';
import type { Instance } from '@svc/runtime/contract';
import { anyOf } from '#support/any-of';
import { DaemonAnswerError, dialDaemon } from './daemon-control.js';

const MAX_MESSAGE_BYTES = 128 * 1024;

/**
 * Launches a template's start command through the daemon and leaves it running: resolves at its start event.
 * @wire process.Process/Start
 */
export async function startCommandOf(
  instance: Instance,
  command: string,
  options: { token: string; signal: AbortSignal },
): Promise<void> {
  const { token, signal } = options;
  const { process } = createDaemonClient({
    baseUrl: 'http://sandbox',
    sandboxId: instance.id,
    accessToken: token,
    transport: createDialTransport({ dial: dialDaemon(instance), readMaxBytes: MAX_MESSAGE_BYTES }),
  });
  const leaving = new AbortController();
  const events = process.start(
    {
      process: { cmd: '/bin/sh', args: ['-c', IN_LOGIN_SHELL, 'sh', command] },
      tag: 'start-command',
      stdin: false,
    },
    { signal: anyOf([signal, leaving.signal]) },
  );
  try {
    for await (const { event } of events) if (event?.event.case === 'start') return;
  } finally {
    leaving.abort();
  }
  throw new DaemonAnswerError('the start command', 500);
}

/** A script for `/bin/sh -c`: runs the command line in `$1` by a login shell, bash where the image has it. */
export const IN_LOGIN_SHELL = `[ -x /bin/bash ] && shell=/bin/bash || shell=/bin/sh
exec "$shell" -l -c "$1"`;

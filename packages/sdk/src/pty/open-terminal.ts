import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { ConnectionError, TimeoutError } from '../errors/connection-errors.js';
import type { FollowOptions } from '../process/process-events.js';
import { ProcessHandle } from '../process/process-handle.js';
import type { ConnectPtyOptions } from './options.js';
import { PtySession } from './pty-session.js';

/** Output that is kept for readers that come late, bytes. */
const keepBytes = 1024 * 1024;

/** Opens a terminal, or follows one. `operation` names the SDK call, for errors. */
export async function openTerminal(
  connection: DaemonConnection,
  operation: string,
  open: FollowOptions['open'],
  options: ConnectPtyOptions & { user?: string | undefined },
): Promise<PtySession> {
  const { onData, timeoutMs = 0, killOnAbort = true, user } = options;
  const handle = await ProcessHandle.launch({
    connection,
    context: {
      operation,
      user,
      options,
      ...('attach' in open ? { resource: 'process' as const, idempotent: true } : {}),
    },
    open,
    timeoutMs,
    keepBytes,
    killOnAbort,
    onOutput: onData && ((event) => (event.type === 'pty' ? onData(event.data) : undefined)),
    timeUp: (cause) =>
      new TimeoutError(
        'The terminal was open longer than its timeoutMs. Raise it, or set it to 0 for no limit.',
        { option: 'timeoutMs', cause, operation: 'pty.wait' },
      ),
    lost: (cause) =>
      new ConnectionError(
        'The connection to the terminal broke, and what ran in it ended before it could be attached to again.',
        { cause, operation: 'pty.wait', retryable: false },
      ),
  });
  return new PtySession(handle);
}

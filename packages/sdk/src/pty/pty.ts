import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { ConnectionError, TimeoutError } from '../errors/connection-errors.js';
import type { FollowOptions } from '../process/process-events.js';
import { ProcessHandle } from '../process/process-handle.js';
import type { AttachPtyOptions, ConnectPtyOptions, CreatePtyOptions } from './options.js';
import { PtySession } from './pty-session.js';
import { toPtyRequest } from './wire.js';

/** Output that is kept for readers that come late, bytes. */
const keepBytes = 1024 * 1024;

/** Terminals in one sandbox. */
export class Pty {
  readonly #connection: DaemonConnection;

  /** @internal */
  constructor(connection: DaemonConnection) {
    this.#connection = connection;
  }

  /**
   * Opens a terminal with an interactive shell, or another program, in it.
   * @throws InvalidRequestError when the working directory does not exist
   * @throws SandboxGoneError
   * @example
   * const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (data) => void process.stdout.write(data) });
   * @wire process.Process/Start, process.Process/Connect
   */
  create(options: CreatePtyOptions = {}): Promise<PtySession> {
    return this.#open('pty.create', { start: toPtyRequest(options) }, { killOnAbort: true, ...options });
  }

  /**
   * Follows an open terminal: what it has shown, as far as that is kept, and what it shows from now on.
   * @throws ProcessNotFoundError
   * @example
   * const terminal = await sandbox.pty.connect(pid, { onData: (data) => void process.stdout.write(data) });
   * @wire process.Process/Connect
   */
  connect(pid: number, options: AttachPtyOptions = {}): Promise<PtySession> {
    const { output = 'all' } = options;
    return this.#open('pty.connect', { attach: { pid }, output }, { killOnAbort: false, ...options });
  }

  async #open(
    operation: string,
    open: FollowOptions['open'],
    options: ConnectPtyOptions & { user?: string | undefined },
  ): Promise<PtySession> {
    const { onData, timeoutMs = 0, killOnAbort = true, user } = options;
    const handle = await ProcessHandle.launch({
      connection: this.#connection,
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
}

import type { DaemonConnection } from '../daemon/daemon-connection.js';
import type { AttachPtyOptions, CreatePtyOptions } from './options.js';
import type { PtySession } from './pty-session.js';
import { toPtyRequest } from './wire.js';

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
  async create(options: CreatePtyOptions = {}): Promise<PtySession> {
    const { openTerminal } = await import('./open-terminal.js');
    const open = { start: toPtyRequest(options) };
    return openTerminal(this.#connection, 'pty.create', open, { killOnAbort: true, ...options });
  }

  /**
   * Follows an open terminal: what it has shown, as far as that is kept, and what it shows from now on.
   * @throws ProcessNotFoundError
   * @example
   * const terminal = await sandbox.pty.connect(pid, { onData: (data) => void process.stdout.write(data) });
   * @wire process.Process/Connect
   */
  async connect(pid: number, options: AttachPtyOptions = {}): Promise<PtySession> {
    const { openTerminal } = await import('./open-terminal.js');
    const open = { attach: { pid }, output: options.output ?? 'all' } as const;
    return openTerminal(this.#connection, 'pty.connect', open, { killOnAbort: false, ...options });
  }
}

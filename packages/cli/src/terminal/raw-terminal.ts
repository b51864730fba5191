import { once } from 'node:events';
import type { Io } from '../output/io.js';
import { EscapeKeys } from './escape-keys.js';
import { TerminalModes } from './terminal-modes.js';

/** The far end of a terminal session. */
export interface TerminalSession {
  write(data: Uint8Array): Promise<void>;
  resize(size: { cols: number; rows: number }): Promise<void>;
}

/**
 * The terminal of a command line, in raw mode between `attach` and `restore`. However the process ends, the terminal is set
 * back.
 */
export class RawTerminal {
  readonly #io: Io;
  readonly #modes = new TerminalModes();
  readonly #keys = new EscapeKeys();
  readonly #undo: (() => void)[] = [];

  constructor(io: Io) {
    this.#io = io;
  }

  /** Size in character cells. */
  get size(): { cols: number; rows: number } {
    const { columns, rows } = this.#io.stdout;
    return { cols: columns || 80, rows: rows || 24 };
  }

  /** Shows what the session says; waits while the terminal is behind. */
  async show(data: Uint8Array): Promise<void> {
    this.#modes.see(data);
    const { stdout } = this.#io;
    if (!stdout.write(data)) await once(stdout, 'drain');
  }

  /** Joins keys and size to a session. `onLeave` is called for `~.` and when the keys come to an end. */
  attach(session: TerminalSession, onLeave: () => void): void {
    const { stdin, stdout } = this.#io;
    const onKeys = (typed: Buffer) => {
      const { data, leave } = this.#keys.read(typed);
      if (data.byteLength > 0) {
        // One piece at a time: a large paste must not pile up here.
        stdin.pause();
        session
          .write(data)
          .catch(() => undefined)
          .finally(() => stdin.resume());
      }
      if (leave) onLeave();
    };
    let sent = this.size;
    const onResize = () => {
      const { cols, rows } = this.size;
      if (cols === sent.cols && rows === sent.rows) return;
      sent = { cols, rows };
      // The end of the session reports the failure.
      session.resize(sent).catch(() => undefined);
    };
    const restore = () => this.restore();
    stdin.setRawMode?.(true);
    stdin.on('data', onKeys).on('end', onLeave);
    stdout.on('resize', onResize);
    process.on('exit', restore);
    this.#undo.push(() => {
      process.removeListener('exit', restore);
      stdout.removeListener('resize', onResize);
      stdin.removeListener('data', onKeys).removeListener('end', onLeave);
      stdin.setRawMode?.(false);
      stdin.pause();
    });
    stdin.resume();
  }

  /** Sets everything back. Repeating it is fine. */
  restore(): void {
    const sequences = this.#modes.restore();
    if (sequences !== '') this.#io.stdout.write(sequences);
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) undo();
  }
}

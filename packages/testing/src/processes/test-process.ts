import type { TestClock } from '../clock/test-clock.js';
import type { CommandCall } from '../commands/call.js';
import type { FoundScript, ScriptedCommand, TestProgram } from '../commands/script.js';
import { InputQueue } from './input-queue.js';

export type OutputKind = 'stdout' | 'stderr' | 'pty';

/** The end of a process, in the words of the wire. */
export interface ExitStatus {
  readonly exitCode: number;
  readonly exited: boolean;
  readonly status: string;
  readonly error?: string;
}

/** A piece of output and how many bytes lie before it. */
export interface OutputPiece {
  readonly kind: OutputKind;
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/** The place of a reader in the output. */
export interface OutputReader {
  offset: number;
}

/** Output that is kept for readers that come back, bytes. */
const keptBytes = 1024 * 1024;
/** Largest piece of one message, bytes. */
const pieceBytes = 32 * 1024;
const encoder = new TextEncoder();
const newline = 10;

/** One program of a sandbox: runs its script, keeps its output, notifies its readers. */
export class TestProcess {
  readonly pid: number;
  readonly call: CommandCall;
  readonly startedMs: number;
  readonly input = new InputQueue();
  /** Size of its terminal, as it is now. */
  terminal: CommandCall['terminal'];
  /** Its input, as text. */
  inputText = '';
  /** Bytes of output so far. */
  written = 0;
  end: ExitStatus | undefined;
  readonly #clock: TestClock;
  readonly #killed = new AbortController();
  readonly #pieces: OutputPiece[] = [];
  #kept = 0;
  /** Output before this is lost. */
  #lostUntil = 0;
  #wake: (() => void)[] = [];
  readonly #readers = new Set<OutputReader>();
  /** Settles when the sandbox runs: a paused program does nothing. */
  readonly #whenRunning: () => Promise<void>;
  readonly #onEnd: () => void;
  /** Output and end in the order in which the script made them. */
  #queue: Promise<void> = Promise.resolve();
  #held = false;

  constructor(options: {
    pid: number;
    call: CommandCall;
    clock: TestClock;
    whenRunning: () => Promise<void>;
    onEnd: () => void;
  }) {
    const { pid, call, clock, whenRunning, onEnd } = options;
    this.pid = pid;
    this.call = call;
    this.terminal = call.terminal;
    this.startedMs = clock.nowMs;
    this.#clock = clock;
    this.#whenRunning = whenRunning;
    this.#onEnd = onEnd;
  }

  /** Runs its script to the end. Never rejects. */
  async run(found: FoundScript | undefined, missing: string): Promise<void> {
    try {
      const result = found
        ? typeof found.script === 'function'
          ? await found.script(this.#program(found.match))
          : found.script
        : { stderr: missing, exitCode: 127 };
      const exitCode = typeof result === 'object' ? await this.#play(result) : (result ?? 0);
      this.#perform(() => this.#finish(exitOf(exitCode)));
    } catch (error) {
      if (this.#killed.signal.aborted) return;
      // An error that a script throws is a fault of the test: it must not look like a quiet success.
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.print('stderr', `TestService: the script of ${JSON.stringify(this.call.line)} threw: ${text}\n`);
      this.#perform(() => this.#finish(exitOf(1)));
    }
  }

  /** Ends it as a signal does. */
  kill(signal: 'killed' | 'terminated'): void {
    const status = `signal: ${signal}`;
    this.#finish({ exitCode: -1, exited: false, status, error: status });
  }

  /** Forgets it with its sandbox: the sandbox notifies readers. */
  drop(): void {
    this.#killed.abort(new Error('the program was killed'));
    this.input.close();
  }

  print(kind: OutputKind, data: string | Uint8Array): void {
    const bytes = typeof data === 'string' ? encoder.encode(data) : data.slice();
    this.#perform(() => this.#append(this.call.terminal ? 'pty' : kind, bytes));
  }

  /** Returns the kept output from an offset on. */
  piecesFrom(offset: number): OutputPiece[] {
    return this.#pieces.flatMap((piece) => {
      const end = piece.offset + piece.bytes.byteLength;
      if (end <= offset) return [];
      if (piece.offset >= offset) return [piece];
      return [{ kind: piece.kind, bytes: piece.bytes.subarray(offset - piece.offset), offset }];
    });
  }

  /** Offset of the oldest output that is kept. */
  get keptFrom(): number {
    return this.#pieces[0]?.offset ?? this.written;
  }

  /** Forgets what was written before `offset` and so many bytes after it, as a daemon does that has to keep too much. */
  lose(offset: number, bytes: number): void {
    if (bytes <= 0) return;
    this.#lostUntil = offset + bytes;
    this.#forget();
  }

  #forget(): void {
    const rest = this.piecesFrom(Math.min(this.written, this.#lostUntil));
    this.#pieces.splice(0, this.#pieces.length, ...rest);
    this.#kept = rest.reduce((sum, piece) => sum + piece.bytes.byteLength, 0);
  }

  /** A place in its output, from `offset` on. What lies behind it is kept until it is closed. */
  subscribe(offset: number): OutputReader {
    const reader: OutputReader = { offset: Math.min(Math.max(offset, this.keptFrom), this.written) };
    this.#readers.add(reader);
    return reader;
  }

  unsubscribe(reader: OutputReader): void {
    this.#readers.delete(reader);
    this.#trim();
  }

  /** Settles at the next output or the end. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  /** Does what a program does once its sandbox runs, and never after its end. */
  #perform(action: () => void): void {
    const act = () => {
      if (!this.#killed.signal.aborted && !this.end) action();
    };
    if (!this.#held && this.call.sandbox.state !== 'paused') {
      act();
      return;
    }
    this.#held = true;
    this.#queue = this.#queue.then(this.#whenRunning).then(act);
    const mine = this.#queue;
    void mine.then(() => {
      if (this.#queue === mine) this.#held = false;
    });
  }

  #append(kind: OutputKind, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
      const piece = bytes.subarray(at, at + pieceBytes);
      this.#pieces.push({ kind, bytes: piece, offset: this.written });
      this.written += piece.byteLength;
      this.#kept += piece.byteLength;
    }
    if (this.written - bytes.byteLength < this.#lostUntil) this.#forget();
    this.#trim();
    this.#notify();
  }

  #trim(): void {
    if (this.#kept <= keptBytes) return;
    const needed = Math.min(...[...this.#readers].map(({ offset }) => offset), this.written);
    let count = 0;
    for (const { bytes, offset } of this.#pieces) {
      if (this.#kept <= keptBytes || offset + bytes.byteLength > needed) break;
      this.#kept -= bytes.byteLength;
      count += 1;
    }
    if (count > 0) this.#pieces.splice(0, count);
  }

  #finish(status: ExitStatus): void {
    if (this.end) return;
    this.end = status;
    this.drop();
    this.#onEnd();
    this.#notify();
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Does what a scripted command says; gives its exit status. */
  async #play({ stdout, stderr, output, exitCode, afterMs }: ScriptedCommand): Promise<number> {
    for (const piece of listOf(stdout)) this.print('stdout', piece);
    for (const piece of listOf(stderr)) this.print('stderr', piece);
    for (const piece of output ?? []) {
      if (piece.afterMs !== undefined) await this.#sleep(piece.afterMs);
      if (piece.stdout !== undefined) this.print('stdout', piece.stdout);
      if (piece.stderr !== undefined) this.print('stderr', piece.stderr);
    }
    if (afterMs !== undefined) await this.#sleep(afterMs);
    return exitCode ?? 0;
  }

  async #sleep(ms: number): Promise<void> {
    await this.#clock.sleep(ms, this.#killed.signal);
    await this.#whenRunning();
  }

  #program(match: TestProgram['match']): TestProgram {
    const { input } = this;
    const readLine = async (): Promise<string | undefined> => {
      const parts: Uint8Array[] = [];
      for (let piece = await input.take(); piece; piece = await input.take()) {
        const end = piece.indexOf(newline);
        parts.push(end < 0 ? piece : piece.subarray(0, end));
        if (end < 0) continue;
        input.putBack(piece.subarray(end + 1));
        return textOf(parts);
      }
      return parts.length === 0 ? undefined : textOf(parts);
    };
    return {
      ...this.call,
      pid: this.pid,
      match,
      stdout: (data) => this.print('stdout', data),
      stderr: (data) => this.print('stderr', data),
      sleep: (ms) => this.#sleep(ms),
      stdin: {
        async *[Symbol.asyncIterator]() {
          for (let piece = await input.take(); piece; piece = await input.take()) yield piece;
        },
      },
      readLine,
      async readAll() {
        const parts: Uint8Array[] = [];
        for (let piece = await input.take(); piece; piece = await input.take()) parts.push(piece);
        return textOf(parts);
      },
      signal: this.#killed.signal,
    };
  }
}

function exitOf(exitCode: number): ExitStatus {
  const status = `exit status ${exitCode}`;
  return { exitCode, exited: true, status, ...(exitCode === 0 ? {} : { error: status }) };
}

function listOf(data: ScriptedCommand['stdout']): readonly (string | Uint8Array)[] {
  if (data === undefined) return [];
  return typeof data === 'string' || data instanceof Uint8Array ? [data] : data;
}

/** Pieces of UTF-8, which may be cut anywhere, as one text. */
function textOf(parts: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return parts.map((part) => decoder.decode(part, { stream: true })).join('') + decoder.decode();
}

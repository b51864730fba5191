import { streamOf } from '../commands/command-output.js';
import type { RequestOptions } from '../core/call-context.js';
import type { ProcessHandle } from '../process/process-handle.js';
import { ProcessInput } from '../process/process-input.js';
import { selectorOf } from '../process/process-selector.js';
import { sendSignal } from '../process/signals.js';
import type { PtyResult, PtySize } from './options.js';

/** A terminal in the sandbox. `await using` kills what runs in it at the end of the block. */
export class PtySession {
  /** Process id inside the sandbox. */
  readonly pid: number;
  readonly #handle: ProcessHandle;
  readonly #input: ProcessInput;
  #output: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;

  /** @internal Terminals come from `pty.create` and `pty.connect`. */
  constructor(handle: ProcessHandle) {
    this.#handle = handle;
    this.pid = handle.pid;
    this.#input = new ProcessInput(handle.connection, handle.pid, 'pty');
    handle.ended.then(
      () => this.#input.end(),
      (error) => this.#input.stop(error),
    );
  }

  /** Times that the connection broke and was made again, where it left off. */
  get reattached(): number {
    return this.#handle.reattached;
  }

  /**
   * Bytes of output that were asked for and not kept any more: while the connection was broken, or before `connect`.
   * Infinity when it is not known how many. Most often 0.
   */
  get lostBytes(): number {
    return this.#handle.lostBytes;
  }

  /** The screen's bytes: the part that is kept (1 MiB), then all that follows. One reader. */
  get output(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#output ??= streamOf(this.#handle.output, 'pty');
    return this.#output;
  }

  /**
   * Types into the terminal. Writes keep their order; `\r` is the return key, `\x03` Ctrl+C, `\x04` Ctrl+D.
   * @example
   * await terminal.write('ls\r');
   * @wire process.Process/StreamInput
   */
  write(data: Uint8Array | string): Promise<void> {
    return this.#input.write(data);
  }

  /**
   * Changes the size of the terminal.
   * @throws ProcessNotFoundError when it has ended
   * @example
   * await terminal.resize({ cols: 120, rows: 40 });
   * @wire process.Process/Update
   */
  async resize(size: PtySize, options: RequestOptions = {}): Promise<void> {
    const { cols, rows } = size;
    const context = { operation: 'pty.resize', resource: 'process', idempotent: true, options } as const;
    const process = { selector: selectorOf({ pid: this.pid }) };
    await this.#handle.connection.call(context, (client, call) =>
      client.process.update({ process, pty: { size: { cols, rows } } }, call),
    );
  }

  /**
   * Kills what runs in the terminal (SIGKILL). False when it had ended.
   * @example
   * await terminal.kill();
   * @wire process.Process/SendSignal
   */
  kill(options: RequestOptions = {}): Promise<boolean> {
    return sendSignal(this.#handle.connection, { pid: this.pid }, 'SIGKILL', options);
  }

  /**
   * Waits for the end; an exit status other than 0 is returned, not thrown.
   * @throws TimeoutError after `timeoutMs`
   * @throws SandboxGoneError
   * @example
   * const { exitCode } = await terminal.wait();
   */
  async wait(options: { signal?: AbortSignal | undefined } = {}): Promise<PtyResult> {
    const { exitCode, error } = await this.#handle.end(options.signal);
    return { exitCode, ...(error === undefined ? {} : { error }) };
  }

  /**
   * Stops following the terminal: `output` and `wait` fail. What runs in it keeps running.
   * @example
   * terminal.disconnect(); // the shell keeps running
   */
  disconnect(): void {
    this.#handle.disconnect('pty');
  }

  /** Kills what runs in the terminal at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill().catch(() => false);
    this.disconnect();
  }
}

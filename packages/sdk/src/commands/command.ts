import type { RequestOptions } from '../core/call-context.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { CommandExitError, OutputLostError } from '../errors/command-errors.js';
import type { ProcessHandle } from '../process/process-handle.js';
import { ProcessInput } from '../process/process-input.js';
import { type SignalName, sendSignal } from '../process/signals.js';
import { eventsOf, resultOf, streamOf } from './command-output.js';
import type { CommandEvent, CommandResult } from './options.js';
import { outputLost } from './output-lost.js';

/** @internal What a command is made of. */
export interface CommandParts {
  handle: ProcessHandle;
  /** The command line, for messages. */
  line: string;
  /** True when its byte streams continue where output is missing. */
  allowLostOutput: boolean;
  /** False when the program certainly has no stdin. */
  hasStdin: boolean;
  /** Runs after the last output. */
  flush?: (() => Promise<void>) | undefined;
}

/**
 * A command that runs. Read its output as events (`for await (const event of command)`), as the streams `stdout` and
 * `stderr`, or through callbacks; wait for its end with `wait()`. `await using` kills it at the end of the block.
 *
 * A reader that is slow slows the program down. One that stops reading does not keep `wait()` from settling.
 */
export class Command implements AsyncIterable<CommandEvent> {
  /** Process id inside the sandbox. */
  readonly pid: number;
  readonly #parts: CommandParts;
  readonly #input: ProcessInput;
  #stdout: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #stderr: ReadableStream<Uint8Array<ArrayBuffer>> | undefined;
  #stdin: WritableStream<Uint8Array | string> | undefined;

  /** @internal Commands come from `commands.start` and `commands.connect`. */
  constructor(parts: CommandParts) {
    const { handle } = parts;
    this.#parts = parts;
    this.pid = handle.pid;
    this.#input = new ProcessInput(handle.connection, handle.pid, 'stdin');
    handle.ended.then(
      () => this.#input.end(),
      (error) => this.#input.stop(error),
    );
  }

  /** Times that the connection broke and was made again, where it left off. */
  get reattached(): number {
    return this.#parts.handle.reattached;
  }

  /**
   * Bytes of output that were asked for and not kept any more: while the connection was broken, or before `connect`.
   * Infinity when it is not known how many. Most often 0.
   */
  get lostBytes(): number {
    return this.#parts.handle.lostBytes;
  }

  /**
   * Standard output as bytes: what is kept of it, then what follows. One reader. Where output is missing it ends with an
   * OutputLostError, unless the command was started with `allowLostOutput`.
   */
  get stdout(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#stdout ??= this.#streamOf('stdout');
    return this.#stdout;
  }

  /** Standard error as bytes, like `stdout`. */
  get stderr(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#stderr ??= this.#streamOf('stderr');
    return this.#stderr;
  }

  /**
   * Standard input. Writes keep their order and wait until the connection has taken them; closing it closes the
   * program's stdin. When the program ends or stops reading, what is written after that is dropped without an error.
   * @throws InvalidRequestError when the command was started without `stdin: true`
   * @wire process.Process/StreamInput, process.Process/CloseStdin
   */
  get stdin(): WritableStream<Uint8Array | string> {
    if (!this.#parts.hasStdin) {
      throw new InvalidRequestError('The command has no standard input: start it with { stdin: true }.');
    }
    this.#stdin ??= new WritableStream({
      write: (chunk) => this.#input.write(chunk),
      close: () => this.#input.finish(),
      abort: (reason) => this.#input.stop(reason),
    });
    return this.#stdin;
  }

  /** @internal Whether the program certainly does not read its standard input any more. */
  get inputUnread(): boolean {
    return this.#input.unread;
  }

  /** The command's events from the oldest that is kept. Each iteration reads for itself; leaving it stops nothing. */
  [Symbol.asyncIterator](): AsyncGenerator<CommandEvent, void, undefined> {
    return eventsOf(this.#parts.handle.output);
  }

  /**
   * Waits for the end of the program.
   * @param options `check: false` returns an exit status other than 0 instead of throwing; `allowLostOutput: false` throws
   * when output is missing, otherwise the result has `lostBytes`; `signal` ends the waiting only.
   * @throws CommandExitError, CommandTimeoutError, OutputLostError, SandboxGoneError
   * @example
   * const { stdout } = await command.wait();
   */
  async wait(
    options: {
      check?: boolean | undefined;
      allowLostOutput?: boolean | undefined;
      signal?: AbortSignal | undefined;
    } = {},
  ): Promise<CommandResult> {
    const { handle, line, flush } = this.#parts;
    const end = await handle.end(options.signal);
    await flush?.();
    const result = resultOf(handle.output, end, handle);
    const { lostBytes = 0 } = result;
    if (lostBytes > 0 && options.allowLostOutput === false) {
      throw new OutputLostError(line, { ...result, lostBytes }, { operation: 'commands.run' });
    }
    if (result.exitCode !== 0 && options.check !== false) {
      throw new CommandExitError(line, result, { operation: 'commands.run' });
    }
    return result;
  }

  /**
   * Kills the program (SIGKILL). False when it had ended.
   * @example
   * await command.kill();
   * @wire process.Process/SendSignal
   */
  kill(options: RequestOptions = {}): Promise<boolean> {
    return this.signal('SIGKILL', options);
  }

  /**
   * Sends the program a signal. False when it had ended.
   * @example
   * await command.signal('SIGTERM');
   * @wire process.Process/SendSignal
   */
  signal(signal: SignalName, options: RequestOptions = {}): Promise<boolean> {
    return sendSignal(this.#parts.handle.connection, { pid: this.pid }, signal, options);
  }

  /**
   * Closes the program's standard input, after everything written so far. Repeating it is fine.
   * @example
   * await command.closeStdin();
   * @wire process.Process/CloseStdin
   */
  async closeStdin(options: RequestOptions = {}): Promise<void> {
    await this.#input.finish(options);
  }

  /**
   * Stops following the command: callbacks stop, readers and `wait` fail. The program keeps running.
   * @example
   * command.disconnect(); // the program keeps running
   */
  disconnect(): void {
    this.#parts.handle.disconnect('command');
  }

  #streamOf(type: 'stdout' | 'stderr'): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { handle, line, allowLostOutput } = this.#parts;
    const { output } = handle;
    if (allowLostOutput) return streamOf(output, type);
    return streamOf(output, type, (lostBytes) => outputLost(line, output, lostBytes));
  }

  /** Kills the command at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill().catch(() => false);
    this.disconnect();
  }
}

import type { DaemonClient } from '@svc/daemon';
import type { RequestOptions } from '../core/call-context.js';
import { Deadline, holdOpen, settlesWithin, sleep } from '../core/deadline.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { keepaliveSeconds } from '../daemon/daemon-stream.js';
import { ServerError } from '../errors/answer-errors.js';
import { NotFoundError } from '../errors/not-found-errors.js';
import { SvcError } from '../errors/svc-error.js';
import { selectorOf } from './process-selector.js';

type InputMessage =
  Parameters<DaemonClient['process']['streamInput']>[0] extends AsyncIterable<infer Message>
    ? Message
    : never;

/** Bytes of one message; larger chunks are cut. Each message costs both sides about as much as half a MiB of bytes. */
const pieceBytes = 1024 * 1024;

/** A source of small chunks lets everything else run this often, ms; larger ones have to wait for the connection anyway. */
const turnMs = 10;
const smallBytes = 4 * 1024;

/** Returns true for a failure that says that the program does not read any more: it ended, or closed its input. */
function stoppedReading(error: unknown): boolean {
  if (NotFoundError.is(error)) return true;
  return ServerError.is(error) && /EPIPE|broken pipe|closed/i.test(error.message);
}

/** Where the input goes: the stdin of a program with pipes, or its terminal. */
export type InputKind = 'stdin' | 'pty';

/**
 * Input of one process, as one StreamInput call that opens with the first write. Writes keep their order, and each
 * waits until the connection has taken its bytes. A broken call is not made again: what arrived is unknown. That a
 * program stops reading its stdin, or ends, is no failure: what is written after that is dropped.
 *
 * A browser sends a body once it is whole, so that what is typed would never arrive: there each write is a SendInput call.
 */
export class ProcessInput {
  readonly #connection: DaemonConnection;
  readonly #pid: number;
  readonly #kind: InputKind;
  readonly #queue = new HandOff<Uint8Array>();
  #call: { result: Promise<unknown>; deadline: Deadline } | undefined;
  #finished: Promise<void> | undefined;
  #stopped: { reason: unknown } | undefined;
  #unread = false;
  #turnedAt = performance.now();
  /** Settles when what was written so far was sent, in a browser. */
  #sent: Promise<void> = Promise.resolve();

  constructor(connection: DaemonConnection, pid: number, kind: InputKind) {
    this.#connection = connection;
    this.#pid = pid;
    this.#kind = kind;
  }

  /** True when the program certainly does not read any more. */
  get unread(): boolean {
    return this.#unread;
  }

  /** Sends bytes; waits until the connection has taken them. */
  async write(data: Uint8Array | string): Promise<void> {
    // A turn of the loop, so that a source without end does not keep everything else from running.
    if (this.#unread && this.#kind === 'stdin') return sleep(0);
    if (this.#stopped) throw this.#stopped.reason;
    if (this.#finished) throw closedError(this.#kind);
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    if (this.#connection.core.config.runtimeKind === 'browser') return this.#send(bytes);
    this.#call ??= this.#open();
    const { result } = this.#call;
    for (let start = 0; start < bytes.byteLength; start += pieceBytes) {
      const taken = this.#queue.put(bytes.subarray(start, start + pieceBytes));
      await holdOpen(Promise.race([taken, result]));
      if (this.#unread && this.#kind === 'stdin') return;
    }
    if (bytes.byteLength < smallBytes && performance.now() - this.#turnedAt > turnMs) {
      await sleep(0);
      this.#turnedAt = performance.now();
    }
  }

  /** Ends the input: waits until all of it is written, then closes the program's stdin. Repeating it is fine. */
  finish(options: RequestOptions = {}): Promise<void> {
    this.#finished ??= this.#finish(options);
    return this.#finished;
  }

  /** Drops what was not sent. The program's stdin stays as it is. */
  stop(reason: unknown = closedError(this.#kind)): void {
    this.#stopped = { reason };
    this.#queue.end();
    this.#call?.deadline.abort(reason);
  }

  /** The program has ended. Drops what was not sent. */
  end(): void {
    this.#unread = true;
    this.stop();
  }

  async #finish(options: RequestOptions): Promise<void> {
    this.#queue.end();
    if (this.#call) await holdOpen(this.#call.result);
    await this.#sent;
    if (this.#kind === 'pty' || this.#unread) return;
    if (this.#stopped) throw this.#stopped.reason;
    const process = { selector: selectorOf({ pid: this.#pid }) };
    const context = {
      operation: 'command.closeStdin',
      resource: 'process',
      idempotent: true,
      options,
    } as const;
    try {
      await this.#connection.call(context, (client, call) => client.process.closeStdin({ process }, call));
    } catch (error) {
      if (!stoppedReading(error)) throw error;
      this.#unread = true;
    }
  }

  /** Sends bytes by calls of their own, after those of earlier writes. One that failed is not repeated, and later ones fail as it did. */
  async #send(bytes: Uint8Array): Promise<void> {
    const sending = this.#sent.then(async () => {
      for (let start = 0; start < bytes.byteLength; start += pieceBytes) {
        if (this.#unread && this.#kind === 'stdin') return;
        if (this.#stopped) throw this.#stopped.reason;
        await this.#sendPiece(bytes.subarray(start, start + pieceBytes));
      }
    });
    this.#sent = sending.catch((error) => {
      this.#stopped ??= { reason: error };
    });
    return sending;
  }

  async #sendPiece(value: Uint8Array): Promise<void> {
    const process = { selector: selectorOf({ pid: this.#pid }) };
    const input = { input: { case: this.#kind, value } };
    const operation = this.#kind === 'pty' ? 'pty.write' : 'command.stdin';
    const context = { operation, resource: 'process', options: {} } as const;
    try {
      await this.#connection.call(context, (client, call) =>
        client.process.sendInput({ process, input }, call),
      );
    } catch (error) {
      if (this.#kind === 'pty' || !stoppedReading(error)) throw error;
      this.#unread = true;
    }
  }

  #open(): { result: Promise<unknown>; deadline: Deadline } {
    const deadline = new Deadline({});
    const context = {
      operation: this.#kind === 'pty' ? 'pty.write' : 'command.stdin',
      resource: 'process',
    } as const;
    const send = async () => {
      const client = await this.#connection.client();
      try {
        await client.process.streamInput(this.#messages(), { signal: deadline.signal });
      } catch (error) {
        if (this.#unread && this.#kind === 'stdin') return;
        if (deadline.signal.aborted) throw deadline.signal.reason;
        const explained = await this.#connection.explain(error, context);
        if (this.#kind === 'pty' || !stoppedReading(explained)) throw explained;
        this.#unread = true;
      } finally {
        deadline.release();
      }
    };
    const result = send();
    result.catch(() => {});
    return { result, deadline };
  }

  async *#messages(): AsyncGenerator<InputMessage, void, undefined> {
    yield { event: { case: 'start', value: { process: { selector: selectorOf({ pid: this.#pid }) } } } };
    for (;;) {
      const next = this.#queue.take();
      while (!(await settlesWithin(next, keepaliveSeconds * 1000))) {
        yield { event: { case: 'keepalive', value: {} } };
      }
      const data = await next;
      if (data === undefined) return;
      const input = { input: { case: this.#kind, value: data } };
      yield { event: { case: 'data', value: { input } } };
    }
  }
}

function closedError(kind: InputKind): SvcError {
  return new SvcError(`The ${kind === 'pty' ? 'terminal' : 'stdin'} of the process is closed.`, {
    code: 'input_closed',
  });
}

/** Hands values from one side to the other in order: `put` waits until its value is taken. */
class HandOff<Value> {
  readonly #waiting: { value: Value; taken: () => void }[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  put(value: Value): Promise<void> {
    return new Promise<void>((taken) => {
      this.#waiting.push({ value, taken });
      this.#wake?.();
    });
  }

  async take(): Promise<Value | undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        next.taken();
        return next.value;
      }
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}

import { Deadline, holdOpen, onAbort, raceAbort } from '../core/deadline.js';
import { type OperationObserver, type OperationStart, observe } from '../core/telemetry.js';
import type { DaemonCallContext, DaemonConnection } from '../daemon/daemon-connection.js';
import { SvcError } from '../errors/svc-error.js';
import { type OutputEvent, OutputHub } from './output-hub.js';
import {
  type FollowOptions,
  followProcess,
  ProcessLost,
  ProcessTimeUp,
  type ProcessUpdate,
} from './process-events.js';
import { sendSignal } from './signals.js';

/** The end of a process. */
export interface ProcessEnd {
  exitCode: number;
  error: string | undefined;
}

export interface LaunchOptions {
  connection: DaemonConnection;
  context: DaemonCallContext;
  open: FollowOptions['open'];
  /** The command line, where there is one. */
  line?: string | undefined;
  timeoutMs: number;
  /** Bytes of output that are kept for the result and for late readers. */
  keepBytes: number;
  /** True when an abort of the caller's signal kills the process. */
  killOnAbort: boolean;
  /** Sees each event before the readers do; waited for. What it throws ends the following. */
  onOutput?: ((event: OutputEvent) => Promise<void> | void) | undefined;
  /** The error of readers and `end()` when the time limit fires. `output` is what was kept until then. */
  timeUp(cause: unknown, output: OutputHub): Error;
  /** Their error when the connection broke and the process could not be found again. */
  lost(cause: ProcessLost, output: OutputHub): Error;
}

const nothing = new Uint8Array(0);

/** A process that is being followed: the common part of commands and terminals. */
export class ProcessHandle {
  readonly pid: number;
  readonly connection: DaemonConnection;
  readonly output: OutputHub;
  /** Settles when the process ended, or when it is not followed any more. Never unhandled. */
  readonly ended: Promise<ProcessEnd>;
  reattached = 0;
  /** Bytes of output that were asked for and never came; Infinity when nobody knows how many. */
  lostBytes: number;
  readonly #abort: (reason: unknown) => void;

  private constructor(
    start: { pid: number; lostBytes: number },
    parts: Pick<ProcessHandle, 'connection' | 'output'>,
    abort: (reason: unknown) => void,
    follow: (handle: ProcessHandle) => Promise<ProcessEnd>,
  ) {
    this.pid = start.pid;
    this.lostBytes = start.lostBytes;
    this.connection = parts.connection;
    this.output = parts.output;
    this.#abort = abort;
    this.ended = follow(this);
    this.ended.catch(() => {});
  }

  /** Starts a process or attaches to one; settles with its first event. */
  static async launch(options: LaunchOptions): Promise<ProcessHandle> {
    const { connection, open, timeoutMs, keepBytes } = options;
    const { streams, config } = connection.core;
    const caller = options.context.options?.signal;
    caller?.throwIfAborted();
    const { sandboxId, templateId } = connection.target;
    const { operation } = options.context;
    const start: OperationStart = {
      operation,
      service: 'sandbox',
      sandboxId,
      templateId,
      process: { line: options.line },
    };
    const observer = observe(config.telemetry, start);
    const context = observer ? { ...options.context, observer } : options.context;
    const stop = new Deadline({});
    const updates = followProcess({ connection, context, open, timeoutMs, signal: stop.signal });
    const first = updates.next();
    const output = new OutputHub(keepBytes);
    const explain = (error: unknown) => {
      if (error instanceof ProcessTimeUp) return options.timeUp(error, output);
      return error instanceof ProcessLost ? options.lost(error, output) : error;
    };
    const started = firstEvent(first, caller, () => {
      // The request may be under way: only its answer has the pid of what has to be killed.
      void killWhenStarted(first, options, () => stop.abort(undefined));
    });
    const failed = (thrown: unknown): unknown => {
      const error = explain(thrown);
      observer?.tell({ type: 'end', error, aborted: caller?.aborted === true });
      return error;
    };
    const { pid, lostBytes } = await holdOpen(started).catch((error: unknown) => {
      throw failed(error);
    });
    observer?.tell({ type: 'started', pid });
    const disconnect = () => stop.abort(disconnected(operation));
    streams.add(disconnect);
    const stopListening = onAbort(caller, (reason) => {
      if (options.killOnAbort) void sendSignal(connection, { pid }, 'SIGKILL').catch(() => {});
      stop.abort(reason);
    });
    return new ProcessHandle(
      { pid, lostBytes },
      { connection, output },
      (reason) => stop.abort(reason),
      async (handle) => {
        try {
          const pumping = pump(updates, handle, options.onOutput, observer);
          const end = await (options.onOutput ? holdOpen(pumping) : pumping);
          output.end();
          observer?.tell({ type: 'end', exitCode: end.exitCode });
          return end;
        } catch (failure) {
          const error = failed(failure);
          output.end({ error });
          throw error;
        } finally {
          stopListening();
          streams.delete(disconnect);
          // Also ends the request when a callback threw in the middle of the stream.
          stop.abort(undefined);
        }
      },
    );
  }

  /** Waits for the end; readers that have fallen behind do not hold it up. */
  async end(signal: AbortSignal | undefined): Promise<ProcessEnd> {
    this.output.expectEnd();
    return holdOpen(signal ? raceAbort(this.ended, signal) : this.ended);
  }

  /** Stops following; the process keeps running. */
  disconnect(operation: string): void {
    this.#abort(disconnected(operation));
  }
}

async function pump(
  updates: AsyncGenerator<ProcessUpdate, void, undefined>,
  handle: ProcessHandle,
  onOutput: LaunchOptions['onOutput'],
  observer: OperationObserver | undefined,
): Promise<ProcessEnd> {
  for await (const update of updates) {
    if (update.type === 'end') return update;
    if (update.type === 'start') continue;
    if (update.type === 'reattached') {
      handle.reattached++;
      handle.lostBytes += update.lostBytes;
      observer?.tell({ type: 'reattached', lostBytes: update.lostBytes });
    }
    const event = update.type === 'reattached' ? { ...update, data: nothing } : update;
    await onOutput?.(event);
    await handle.output.publish(event);
  }
  throw new SvcError('The process was followed to no end.', { code: 'internal' });
}

type FirstUpdate = Promise<IteratorResult<ProcessUpdate, void>>;

/** The start, or what the caller aborted with meanwhile. */
async function firstEvent(
  first: FirstUpdate,
  caller: AbortSignal | undefined,
  whenAborted: () => void,
): Promise<{ pid: number; lostBytes: number }> {
  let stopListening = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stopListening = onAbort(caller, (reason) => {
      whenAborted();
      reject(reason);
    });
  });
  aborted.catch(() => {});
  try {
    const { value } = await Promise.race([first, aborted]);
    if (value?.type === 'start') return value;
    throw new SvcError('The daemon sent no start event.', { code: 'internal' });
  } finally {
    stopListening();
  }
}

async function killWhenStarted(first: FirstUpdate, options: LaunchOptions, stop: () => void): Promise<void> {
  try {
    const { value } = await first;
    if (options.killOnAbort && value?.type === 'start')
      await sendSignal(options.connection, { pid: value.pid }, 'SIGKILL');
  } catch {
    // It never started, or has exited, as the caller wanted.
  } finally {
    stop();
  }
}

function disconnected(operation: string): SvcError {
  return new SvcError(
    `${operation}: disconnected. The process continues; connect by its pid to follow it again.`,
    { code: 'disconnected', operation },
  );
}

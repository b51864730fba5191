import { Deadline } from '../core/deadline.js';
import { ConnectionError } from '../core/errors/connection-errors.js';
import type { RequestOptions } from '../core/pipeline/call-context.js';
import { requestTimeout } from '../core/pipeline/pipeline.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import type { WatchEvent } from './entry.js';
import { fromWatchEvent } from './wire.js';

/** How to watch. */
export interface WatchOptions extends Omit<RequestOptions, 'maxRetries'> {
  /** Also every directory below, those to come included. Default false. */
  recursive?: boolean | undefined;
  /** Put the entry into create, write and chmod events. Default false. */
  includeEntry?: boolean | undefined;
  /** Watch even a network mount, which may not report changes made elsewhere. Default false. */
  allowNetworkMounts?: boolean | undefined;
  user?: string | undefined;
  /** Called for each event, in order; awaited. With it the watch is not to be iterated. */
  onEvent?: ((event: WatchEvent) => void | Promise<void>) | undefined;
  /** Called once at the end: with what went wrong, or with nothing after `close`. Only together with `onEvent`. */
  onEnd?: ((error?: unknown) => void) | undefined;
}

/** Seconds between signs of life that the daemon is asked for. */
const keepaliveSeconds = 50;
/** Silence that means that the connection is dead, ms. */
const silenceLimitMs = (2 * keepaliveSeconds + 10) * 1000;

/**
 * Changes of a directory as they come, from the moment it was made: `for await (const event of watch)`. Leaving the loop
 * closes it. It has no time limit.
 */
export class DirectoryWatch implements AsyncIterable<WatchEvent>, AsyncDisposable {
  readonly #events: AsyncIterator<WatchEvent>;
  readonly #close: () => void;
  /** Settles at the end, where a callback was given; never rejects. */
  readonly #pumped: Promise<void>;

  /** @internal */
  constructor(
    events: AsyncIterator<WatchEvent>,
    close: () => void,
    options: Pick<WatchOptions, 'onEvent' | 'onEnd'>,
  ) {
    this.#events = events;
    this.#close = close;
    const { onEvent, onEnd } = options;
    this.#pumped = onEvent ? this.#pump(onEvent, onEnd) : Promise.resolve();
  }

  /**
   * Ends the watch. Does nothing the second time.
   * @example
   * const watch = await sandbox.files.watch('src', { onEvent: (event) => console.log(event.name) });
   * await watch.close();
   */
  async close(): Promise<void> {
    this.#close();
    await this.#pumped;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The events, once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent, void, undefined> {
    try {
      for (let step = await this.#events.next(); !step.done; step = await this.#events.next())
        yield step.value;
    } finally {
      this.#close();
    }
  }

  async #pump(onEvent: NonNullable<WatchOptions['onEvent']>, onEnd: WatchOptions['onEnd']): Promise<void> {
    try {
      for await (const event of this) await onEvent(event);
      onEnd?.();
    } catch (error) {
      onEnd?.(error);
    }
  }
}

export async function watchDirectory(
  connection: DaemonConnection,
  path: string,
  options: WatchOptions,
): Promise<DirectoryWatch> {
  const operation = 'files.watch';
  const { recursive = false, includeEntry = false, allowNetworkMounts = false, user, signal } = options;
  const context = { operation, resource: 'file', user } as const;
  const closed = new Error('The watch was closed.');
  let started = false;
  const deadline = new Deadline({
    signal,
    timeoutMs: options.requestTimeoutMs ?? connection.core.config.requestTimeoutMs,
    onTimeout: (limitMs) =>
      started
        ? new ConnectionError(
            `${operation}: no sign of life for ${limitMs / 1000} s, so changes may have been missed. Watch again.`,
            {
              operation,
            },
          )
        : requestTimeout(operation, limitMs),
  });
  const { streams } = connection.core;
  const end = (): void => {
    streams.delete(end);
    deadline.abort(closed);
  };
  const fail = async (thrown: unknown): Promise<unknown> => {
    streams.delete(end);
    if (deadline.signal.aborted) return deadline.signal.reason;
    deadline.release();
    return connection.explain(thrown, context, signal);
  };
  streams.add(end);
  try {
    const source = await deadline.run(async (abort) => {
      const { filesystem } = await connection.client(user);
      const request = { path, recursive, includeEntry, allowNetworkMounts };
      const headers = { 'Keepalive-Ping-Interval': String(keepaliveSeconds) };
      const stream = filesystem.watchDir(request, { signal: abort, headers })[Symbol.asyncIterator]();
      for (let first = await stream.next(); !first.done; first = await stream.next()) {
        if (first.value.event.case === 'start') return stream;
      }
      throw new ConnectionError(`${operation}: the stream ended before the watch began.`, { operation });
    });
    started = true;
    deadline.restart(0);
    return new DirectoryWatch(events(source), end, options);
  } catch (thrown) {
    throw await fail(thrown);
  }

  async function* events(source: AsyncIterator<{ event: { case: string | undefined; value?: unknown } }>) {
    try {
      for (;;) {
        // Counts while someone waits: unread events say nothing about the connection.
        deadline.restart(silenceLimitMs);
        const { value, done } = await deadline.run(() => source.next());
        deadline.restart(0);
        if (done)
          throw new ConnectionError(`${operation}: the connection ended. Watch again.`, { operation });
        const event =
          value.event.case === 'filesystem' ? fromWatchEvent(value.event.value as never) : undefined;
        if (event) yield event;
      }
    } catch (thrown) {
      const error = await fail(thrown);
      if (error !== closed) throw error;
    }
  }
}

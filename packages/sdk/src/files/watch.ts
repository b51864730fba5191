import type { RequestOptions } from '../core/call-context.js';
import { holdOpen } from '../core/deadline.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { silenceLimitMs } from '../daemon/daemon-stream.js';
import { ConnectionError } from '../errors/connection-errors.js';
import type { WatchEvent } from './entry.js';
import { fromWatchEvent } from './wire.js';

/** Options for watching a directory. */
export interface WatchOptions extends Omit<RequestOptions, 'maxRetries'> {
  /** Also every directory below, those to come included. Default false. */
  recursive?: boolean | undefined;
  /** Put the entry into create, write and chmod events. Default false. */
  includeEntry?: boolean | undefined;
  /** Watch even a network mount, which may not report changes made on other machines. Default false. */
  allowNetworkMounts?: boolean | undefined;
  user?: string | undefined;
  /** Called for each event, in order; awaited. With it the watch is not to be iterated. */
  onEvent?: ((event: WatchEvent) => void | Promise<void>) | undefined;
  /** Called once at the end: with what went wrong, or with nothing after `close`. Only together with `onEvent`. */
  onEnd?: ((error?: unknown) => void) | undefined;
}

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
  const { requestTimeoutMs } = options;
  const { streams } = connection.core;
  const context = {
    operation,
    resource: 'file',
    user,
    options: { signal, requestTimeoutMs, maxRetries: 0 },
  } as const;
  const request = { path, recursive, includeEntry, allowNetworkMounts };
  const stream = await connection.open(context, ({ filesystem }, call) => filesystem.watchDir(request, call));
  const closed = new Error('The watch was closed.');
  const close = (): void => {
    streams.delete(close);
    stream.close(closed);
  };
  streams.add(close);
  // Signs of life may come before the watch has begun.
  for (let message: typeof stream.first | undefined = stream.first; message?.event.case !== 'start'; ) {
    message = await holdOpen(stream.next(silenceLimitMs, silence));
    if (message === undefined) throw lost('the connection ended');
  }
  return new DirectoryWatch(events(), close, options);

  async function* events(): AsyncGenerator<WatchEvent, void, undefined> {
    try {
      for (;;) {
        const message = await holdOpen(stream.next(silenceLimitMs, silence));
        if (message === undefined) throw lost('the connection ended');
        const event = message.event.case === 'filesystem' && fromWatchEvent(message.event.value);
        if (event) yield event;
      }
    } catch (thrown) {
      signal?.throwIfAborted();
      if (thrown !== closed) throw await connection.explain(thrown, context, signal);
    } finally {
      streams.delete(close);
      stream.release();
    }
  }

  function silence(limitMs: number): ConnectionError {
    return lost(`no sign of life for ${limitMs / 1000} s`);
  }

  function lost(how: string): ConnectionError {
    return new ConnectionError(`${operation}: ${how}, so changes may have been missed. Watch again.`, {
      operation,
    });
  }
}

import { type Deadline, settlesWithin } from '../core/deadline.js';

/** Seconds between the signs of life that the daemon is asked for on every stream. */
export const keepaliveSeconds = 50;
/** Silence after which a stream counts as broken, ms: two signs of life and a margin. */
export const silenceLimitMs = (2 * keepaliveSeconds + 20) * 1000;

/** A stream that fell silent or ended too early, which is what a broken connection looks like. */
export class BrokenStream extends Error {}

/** The messages of an RPC that streams, from its first one on. */
export class DaemonStream<Message> {
  readonly first: Message;
  readonly #messages: AsyncIterator<Message>;
  readonly #deadline: Deadline;

  constructor(first: Message, messages: AsyncIterator<Message>, deadline: Deadline) {
    this.first = first;
    this.#messages = messages;
    this.#deadline = deadline;
  }

  /**
   * The next message; undefined at the end. The limit counts only while this is waited for: a reader may take its time.
   * @throws what `onSilence` makes when nothing came for `limitMs`
   */
  async next(limitMs: number, onSilence: (limitMs: number) => Error): Promise<Message | undefined> {
    this.#deadline.restart(limitMs, onSilence);
    try {
      const { done, value } = await this.#messages.next();
      return done ? undefined : value;
    } catch (error) {
      const { aborted, reason } = this.#deadline.signal;
      throw aborted ? reason : error;
    } finally {
      this.#deadline.restart(0);
    }
  }

  /** Ends the stream: who waits for a message gets the reason. */
  close(reason: unknown): void {
    this.#deadline.abort(reason);
  }

  /** The stream is over: nobody is listened to any more. */
  release(): void {
    this.#deadline.release();
  }

  /** Reads what is left, for at most this long: then its connection can serve the next call. */
  drain(limitMs: number): Promise<boolean> {
    return settlesWithin(this.#messages.next(), limitMs);
  }
}

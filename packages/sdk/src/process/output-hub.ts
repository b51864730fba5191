import { holdOpen, settlesWithin } from '../core/deadline.js';

/** Output, or the notice that the connection broke and was made again. */
export interface OutputEvent {
  readonly type: 'stdout' | 'stderr' | 'pty' | 'reattached';
  /** The bytes as they came; empty for a notice. */
  readonly data: Uint8Array;
  /** Of a notice: bytes of output that are missing at this place. Infinity when nobody knows how many. */
  readonly lostBytes?: number;
}

/** Unread bytes of one reader above which the program is slowed down. */
const highWaterBytes = 256 * 1024;
/** Longest time that a reader may leave its output unread while somebody waits for the program's end, ms. */
const stallLimitMs = 1_000;

/** One reader of a program's output. */
export class OutputReader {
  readonly #wants: (event: OutputEvent) => boolean;
  readonly #queue: OutputEvent[] = [];
  #bytes = 0;
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;
  #stalled = false;
  readonly #onClose: (reader: OutputReader) => void;

  constructor(wants: (event: OutputEvent) => boolean, onClose: (reader: OutputReader) => void) {
    this.#wants = wants;
    this.#onClose = onClose;
  }

  /** The next event, or undefined at the end. Throws what the program's stream ended with. */
  async next(): Promise<OutputEvent | undefined> {
    for (;;) {
      const event = this.#queue.shift();
      if (event) {
        this.#bytes -= event.data.byteLength;
        if (this.#bytes < highWaterBytes) this.#release();
        return event;
      }
      if (this.#failure) throw this.#failure.error;
      if (this.#ended) return undefined;
      await holdOpen(
        new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        }),
      );
    }
  }

  /** Stops listening; what is unread is dropped. */
  close(): void {
    this.#ended = true;
    this.#queue.length = 0;
    this.#bytes = 0;
    this.#release();
    this.#wakeReader?.();
    this.#onClose(this);
  }

  /** @internal */
  push(event: OutputEvent): void {
    if (this.#ended || !this.#wants(event)) return;
    this.#queue.push(event);
    this.#bytes += event.data.byteLength;
    this.#wakeReader?.();
  }

  /** @internal */
  end(failure: { error: unknown } | undefined): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wakeReader?.();
    this.#release();
  }

  /** @internal Waits until the reader has read enough, or has left its output unread for too long while `waited` holds. */
  async room(waited: Promise<void>): Promise<void> {
    if (this.#bytes < highWaterBytes || this.#stalled || this.#ended) return;
    const read = new Promise<void>((resolve) => {
      this.#wakeWriter = resolve;
    });
    await Promise.race([read, waited]);
    if (await settlesWithin(read, stallLimitMs)) return;
    // It may never read again. A caller who waits for the end must not wait for it: from now on its output is only stored.
    this.#stalled = true;
  }

  #release(): void {
    this.#stalled = false;
    this.#wakeWriter?.();
    this.#wakeWriter = undefined;
  }
}

/**
 * Hands the output of one program to its readers. Each reader gets everything that is kept and all that follows. A
 * reader that falls behind slows the program down; nothing is slowed while nobody reads. Of what has been written the
 * last `keepBytes` are kept for the result and for readers that come late.
 */
export class OutputHub {
  readonly #keepBytes: number;
  readonly #readers = new Set<OutputReader>();
  #kept: OutputEvent[] = [];
  #keptBytes = 0;
  #truncated = false;
  #ended: { failure: { error: unknown } | undefined } | undefined;
  readonly #waited: Promise<void>;
  #markWaited = (): void => {};

  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
    this.#waited = new Promise((resolve) => {
      this.#markWaited = resolve;
    });
  }

  /** The kept output, oldest first. */
  get kept(): readonly OutputEvent[] {
    return this.#kept;
  }

  /** True when older output was dropped. */
  get truncated(): boolean {
    return this.#truncated;
  }

  /** Says that somebody waits for the end, so that no reader may hold it up. */
  expectEnd(): void {
    this.#markWaited();
  }

  /** Starts reading, from the oldest event that is kept. */
  read(wants: (event: OutputEvent) => boolean): OutputReader {
    const reader = new OutputReader(wants, (closed) => this.#readers.delete(closed));
    for (const event of this.#kept) reader.push(event);
    if (this.#ended) reader.end(this.#ended.failure);
    else this.#readers.add(reader);
    return reader;
  }

  /** Passes an event on; waits for readers that have fallen behind. */
  async publish(event: OutputEvent): Promise<void> {
    this.#keep(event);
    for (const reader of this.#readers) reader.push(event);
    for (const reader of this.#readers) await reader.room(this.#waited);
  }

  /** Ends every reader, with an error or without. */
  end(failure?: { error: unknown }): void {
    this.#ended = { failure };
    for (const reader of this.#readers) reader.end(failure);
    this.#readers.clear();
  }

  #keep(event: OutputEvent): void {
    this.#kept.push(event);
    this.#keptBytes += event.data.byteLength;
    if (this.#keptBytes <= this.#keepBytes) return;
    this.#truncated = true;
    let drop = 0;
    for (
      let excess = this.#keptBytes - this.#keepBytes;
      excess > 0;
      excess = this.#keptBytes - this.#keepBytes
    ) {
      const oldest = this.#kept[drop] as OutputEvent;
      const rest = cutFront(oldest.data, excess);
      this.#keptBytes -= oldest.data.byteLength - rest.byteLength;
      if (rest.byteLength > 0) this.#kept[drop] = { ...oldest, data: rest };
      else drop++;
    }
    this.#kept.splice(0, drop);
  }
}

/** The data without its first bytes; up to three more go, so that it does not begin inside a character of UTF-8. */
function cutFront(data: Uint8Array, bytes: number): Uint8Array {
  let at = bytes;
  while (at < bytes + 3 && ((data[at] ?? 0) & 0xc0) === 0x80) at++;
  // A copy, so that the rest does not stay in memory.
  return data.slice(at);
}

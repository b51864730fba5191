import type { OnReadOpts, Socket } from 'node:net';
import { Counts } from '../limits/counts.js';

/** Sizes of the buffers for a connection that carries little, and for one that carries much. */
const SMALL_BYTES = 8 * 1024;
const LARGE_BYTES = 2 ** 20;
/** Large buffers of all connections. */
const LARGE_TOTAL = 64;
/** So many reads in a row that would have fitted into a small one give the large one back. */
const SMALL_READS = 32;

/** Counts the large buffers. Of those that are free one sandbox may have half, so that some are left for others. */
export class LargeBuffers {
  readonly #total: number;
  readonly #counts = new Counts();
  #lent = 0;

  constructor(total = LARGE_TOTAL) {
    this.#total = total;
  }

  /** @returns what gives it back, once; undefined when there is none for this sandbox */
  borrow(sandboxId: string): (() => void) | undefined {
    if (this.#counts.of(sandboxId) >= Math.ceil((this.#total - this.#lent) / 2)) return undefined;
    const leave = this.#counts.add(sandboxId);
    this.#lent += 1;
    let there = true;
    return () => {
      if (!there) return;
      there = false;
      this.#lent -= 1;
      leave();
    };
  }
}

/**
 * Reads a connection that this process makes into one buffer, again and again, and writes from there to another one: without
 * streams between them, which take memory for each read and give it back much later, half of the time is saved.
 */
export class DirectReads {
  /** For the connection that is to be made. It must begin paused. */
  readonly onread: OnReadOpts;
  readonly #to: Socket;
  readonly #large: LargeBuffers;
  readonly #sandboxId: string;
  #from: Socket | undefined;
  #buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  #giveBack: (() => void) | undefined;
  #smallReads = 0;
  #waiting = false;

  constructor(to: Socket, large: LargeBuffers, sandboxId: string) {
    this.#to = to;
    this.#large = large;
    this.#sandboxId = sandboxId;
    this.onread = { buffer: () => this.#buffer, callback: (size) => this.#pass(size) };
  }

  /** Begins to read. @param from the connection that was made with `onread` */
  begin(from: Socket): void {
    this.#from = from;
    from.once('end', () => this.#to.end());
    from.once('close', () => this.#giveBack?.());
    from.resume();
  }

  #pass(size: number): boolean {
    const to = this.#to;
    if (to.destroyed) return false;
    const bytes = this.#buffer.subarray(0, size);
    this.#fit(size);
    to.write(bytes, this.#written);
    // Bytes that the kernel has taken have left the buffer. Otherwise it is needed until the write has ended.
    this.#waiting = to.writableLength > 0;
    return !this.#waiting;
  }

  readonly #written = (): void => {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#from?.resume();
  };

  /** Chooses what the next read goes into. The one before stays as it is: it may be written from still. */
  #fit(size: number): void {
    if (this.#buffer.length === SMALL_BYTES) {
      if (size < SMALL_BYTES) return;
      this.#giveBack = this.#large.borrow(this.#sandboxId);
      if (this.#giveBack === undefined) return;
      this.#buffer = Buffer.allocUnsafeSlow(LARGE_BYTES);
      this.#smallReads = 0;
      return;
    }
    this.#smallReads = size > SMALL_BYTES ? 0 : this.#smallReads + 1;
    if (this.#smallReads < SMALL_READS) return;
    this.#giveBack?.();
    this.#buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  }
}

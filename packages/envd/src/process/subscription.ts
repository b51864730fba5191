import type { ExitStatus } from './exit-status.js';
import type { OutputCursor } from './kept-output.js';
import type { ProcessEvent } from './process-event.js';

const HIGH_WATER_BYTES = 256 * 1024;
const LOW_WATER_BYTES = 64 * 1024;

/** One reader of a process. Little more than 256 KiB wait for it, because its process stops when it is so far behind. */
export class Subscription {
  readonly #cursor: OutputCursor;
  readonly #end: () => ExitStatus | undefined;
  readonly #onRoom: () => void;
  #full = false;
  #finished = false;
  #closed = false;
  #wake: (() => void) | undefined;

  /**
   * `end` tells how the process ended, once all of its output is there. `onRoom` is called when a reader that was behind
   * has caught up, and when it leaves.
   */
  constructor(cursor: OutputCursor, end: () => ExitStatus | undefined, onRoom: () => void) {
    this.#cursor = cursor;
    this.#end = end;
    this.#onRoom = onRoom;
    this.#full = cursor.backlog >= HIGH_WATER_BYTES;
  }

  /** Bytes of output before what `shift` gives next. */
  get offset(): number {
    return this.#cursor.offset;
  }

  get full(): boolean {
    return this.#full && !this.#closed;
  }

  /** There is more to read. */
  notify(): void {
    if (this.#closed) return;
    if (!this.#full && this.#cursor.backlog >= HIGH_WATER_BYTES) this.#full = true;
    this.#wake?.();
  }

  /** The next event if there is one. */
  shift(): ProcessEvent | undefined {
    if (this.#closed || this.#finished) return undefined;
    const piece = this.#cursor.read();
    if (this.#full && this.#cursor.backlog <= LOW_WATER_BYTES) {
      this.#full = false;
      this.#onRoom();
    }
    if (piece) return { kind: 'data', ...piece };
    const status = this.#end();
    if (!status) return undefined;
    this.#finished = true;
    return { kind: 'end', status };
  }

  /** Waits until `shift` gives something, the reader left, or the time is over: then false. */
  async wait(timeoutMs: number): Promise<boolean> {
    if (this.#closed || this.#end() || this.#cursor.backlog > 0) return true;
    return new Promise((resolve) => {
      const done = (woken: boolean) => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve(woken);
      };
      const timer = setTimeout(done, timeoutMs, false);
      timer.unref();
      this.#wake = () => done(true);
    });
  }

  /** Ends the reader's interest. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cursor.close();
    this.#wake?.();
    this.#onRoom();
  }

  get closed(): boolean {
    return this.#closed;
  }
}

import type { ProcessEvent } from './process-event.js';

const HIGH_WATER_BYTES = 256 * 1024;
const LOW_WATER_BYTES = 64 * 1024;
// What an event costs beside its bytes.
const EVENT_OVERHEAD_BYTES = 64;

/** One reader's queue of events; it holds little more than 256 KiB, because its process stops when it is full. */
export class Subscription {
  readonly #queue: ProcessEvent[] = [];
  readonly #onRoom: () => void;
  #head = 0;
  #bytes = 0;
  #full = false;
  #closed = false;
  #wake: (() => void) | undefined;

  /** `onRoom` is called when a full queue has room again, and when the reader leaves. */
  constructor(onRoom: () => void) {
    this.#onRoom = onRoom;
  }

  get full(): boolean {
    return this.#full && !this.#closed;
  }

  push(event: ProcessEvent): void {
    if (this.#closed) return;
    this.#queue.push(event);
    this.#bytes += sizeOf(event);
    if (this.#bytes >= HIGH_WATER_BYTES) this.#full = true;
    this.#wake?.();
  }

  /** The next event if there is one. */
  shift(): ProcessEvent | undefined {
    const event = this.#queue[this.#head];
    if (event === undefined) return undefined;
    this.#head++;
    if (this.#head === this.#queue.length) {
      this.#queue.length = 0;
      this.#head = 0;
    } else if (this.#head > 256) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    this.#bytes -= sizeOf(event);
    if (this.#full && this.#bytes <= LOW_WATER_BYTES) {
      this.#full = false;
      this.#onRoom();
    }
    return event;
  }

  /** Waits until `shift` gives something, the reader left, or the time is over: then false. */
  async wait(timeoutMs: number): Promise<boolean> {
    if (this.#head < this.#queue.length || this.#closed) return true;
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

  /** Ends the reader's interest; what is queued is dropped. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue.length = 0;
    this.#head = 0;
    this.#bytes = 0;
    this.#wake?.();
    this.#onRoom();
  }

  get closed(): boolean {
    return this.#closed;
  }
}

function sizeOf(event: ProcessEvent): number {
  return EVENT_OVERHEAD_BYTES + (event.kind === 'data' ? event.bytes.byteLength : 0);
}

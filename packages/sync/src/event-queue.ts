import type { SyncEvent } from './events.js';

/** Most events that are kept for a reader who does not take them; progress is dropped before anything else. */
const longestQueue = 10_000;

/** Hands events to a callback, and to readers of the iterator. */
export class EventQueue {
  readonly #onEvent: ((event: SyncEvent) => void) | undefined;
  readonly #readers = new Set<{ events: SyncEvent[]; wake: () => void }>();
  #ended = false;

  constructor(onEvent: ((event: SyncEvent) => void) | undefined) {
    this.#onEvent = onEvent;
  }

  readonly emit = (event: SyncEvent): void => {
    this.#onEvent?.(event);
    for (const reader of this.#readers) {
      if (event.type === 'progress' && reader.events.at(-1)?.type === 'progress') reader.events.pop();
      if (reader.events.length >= longestQueue) reader.events.shift();
      reader.events.push(event);
      reader.wake();
    }
  };

  end(): void {
    this.#ended = true;
    for (const reader of this.#readers) reader.wake();
  }

  /** The events from now on, to the end. */
  read(): AsyncGenerator<SyncEvent, void, undefined> {
    const reader = { events: [] as SyncEvent[], wake: () => {} };
    this.#readers.add(reader);
    return this.#take(reader);
  }

  async *#take(reader: {
    events: SyncEvent[];
    wake: () => void;
  }): AsyncGenerator<SyncEvent, void, undefined> {
    try {
      for (;;) {
        const event = reader.events.shift();
        if (event !== undefined) yield event;
        else if (this.#ended) return;
        else
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
      }
    } finally {
      this.#readers.delete(reader);
    }
  }
}

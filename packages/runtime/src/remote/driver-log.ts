import type { MessageInitShape } from '@bufbuild/protobuf';
import type { WatchResponseSchema } from '../gen/driver/driver_pb.js';

/** Log lines and ends that may wait for a server that does not read. */
const MAX_WAITING_EVENTS = 20_000;

/** An event that the process of a driver sends without being asked. */
export type DriverEvent = NonNullable<MessageInitShape<typeof WatchResponseSchema>['event']>;

/** Events that wait for their one reader. Those that are too many are dropped, the oldest first. */
class EventQueue<T> {
  readonly #waiting: T[] = [];
  readonly #limit: number;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(event: T): void {
    this.#waiting.push(event);
    if (this.#waiting.length > this.#limit) this.#waiting.shift();
    this.#wake?.();
  }

  /** Gives events as they come, until the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<T> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        const next = this.#waiting.shift();
        if (next !== undefined) yield next;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }
}

/** The log of a driver that is served: an option of the driver, and of {@link serveDriver}. */
export class DriverLog {
  readonly events = new EventQueue<DriverEvent>(MAX_WAITING_EVENTS);
  readonly write = (level: string, message: string, fields: Record<string, unknown> = {}): void => {
    this.events.push({ case: 'log', value: { level, message, fields: JSON.stringify(fields) } });
  };
}

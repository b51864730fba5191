import type { MessageInitShape } from '@bufbuild/protobuf';
import type { WatchResponseSchema } from '../gen/driver/driver_pb.js';
import { EventQueue } from './event-queue.js';

/** Log lines and ends that may wait for a server that does not read. */
const MAX_WAITING_EVENTS = 20_000;

/** An event that the process of a driver sends without being asked. */
export type DriverEvent = NonNullable<MessageInitShape<typeof WatchResponseSchema>['event']>;

/** The log of a driver that is served: an option of the driver, and of {@link serveDriver}. */
export class DriverLog {
  readonly events = new EventQueue<DriverEvent>(MAX_WAITING_EVENTS);
  readonly write = (level: string, message: string, fields: Record<string, unknown> = {}): void => {
    this.events.push({ case: 'log', value: { level, message, fields: JSON.stringify(fields) } });
  };
}

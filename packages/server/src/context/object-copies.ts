import type { StoredObject } from '@svc/runtime';
import type { NodeForwarder } from '../nodes/forwarder.js';

/** What other nodes stored, brought here where it is needed. */
export interface ObjectCopies {
  /** Whether what other nodes stored can be used here. */
  readonly possible: boolean;
  /** Asks other nodes. */
  readonly forwarder: NodeForwarder;
  /** Runs what depends on whether an object is here and nobody removes it meanwhile. */
  holding<T>(object: StoredObject, task: () => Promise<T>): Promise<T>;
  /**
   * Sees to it that an object is here, with what it stands on. It comes on when whoever waits for it gives up.
   * @param from nodes that have it, beside those that have copies
   * @throws {ApiError} 503 when nobody who has it answers; {DriverError} why it cannot be used here
   */
  bring(object: StoredObject, from: readonly string[]): Promise<void>;
  close(): void;
}

import { isDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';

/** This process writes into the store too, and finds it full in its own words. Other errors stay what they are. */
export function storageFull(error: unknown): unknown {
  return isDiskFull(error) ? storeIsFull({ cause: error }) : error;
}

export function storeIsFull(options: { detail?: string; cause?: unknown } = {}): DriverError {
  return new DriverError('storage_full', 'The storage of the sandboxes is full.', options);
}

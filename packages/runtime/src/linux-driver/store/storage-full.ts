import { isDiskFull } from '#support/disk-full';
import { DriverError } from '../../contract/errors.js';

/** This process writes into the store too, and finds it full in its own words. Other errors stay what they are. */
export function storageFull(error: unknown): unknown {
  if (!isDiskFull(error)) return error;
  return new DriverError('storage_full', 'The storage of the sandboxes is full.', { cause: error });
}

import { DriverError } from '../../contract/errors.js';

const FULL = new Set(['ENOSPC', 'EDQUOT']);

/** This process writes into the store too, and finds it full in its own words. Other errors stay what they are. */
export function storageFull(error: unknown): unknown {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
  // Node has no name for a quota that is used up (EDQUOT).
  if (!FULL.has(code ?? '') && errno !== -122) return error;
  return new DriverError('storage_full', 'The storage of the sandboxes is full.', { cause: error });
}

import { saysDiskFull } from '#support/disk-full';
import { DriverError, type DriverErrorCode } from '../contract/errors.js';
import { IncusError } from '../incus/incus-error.js';

const NO_ROOM =
  /no available cluster members|failed to find.*member|couldn't find a cluster member|no suitable cluster member/i;
const ENDED = /instance not found|instance is not running|is not running|isn't running/i;

/** The messages of Incus when an instance of that name exists on any member, or another operation on it is running. */
const NAME_TAKEN =
  /creating instance record: .*(?:UNIQUE constraint failed|is busy running|already exists)/is;

/** Returns true if an instance could not be made because its name is taken. Pure. */
export function isNameTaken(error: unknown): boolean {
  return IncusError.is(error) && NAME_TAKEN.test(error.message);
}

/**
 * Translates an error of Incus for the caller of the driver. The words of Incus go to the operator. Any other error
 * is passed through. Pure.
 * @param fallback the code for an error that says nothing more.
 */
export function driverError(error: unknown, fallback: { code: DriverErrorCode; message: string }): unknown {
  if (!IncusError.is(error)) return error;
  const options = { cause: error, detail: error.message };
  const { message } = error;
  if (error.status === 0)
    return new DriverError('unreachable', 'The cluster that runs sandboxes does not answer.', options);
  if (saysDiskFull(message))
    return new DriverError('storage_full', 'There is not enough disk space for the sandbox.', options);
  if (NO_ROOM.test(message))
    return new DriverError('no_capacity', 'No machine of the cluster can take another sandbox.', options);
  if (/not authorized|not trusted|forbidden/i.test(message))
    return new DriverError('unreachable', 'The cluster that runs sandboxes refuses this server.', options);
  if (ENDED.test(message)) return gone(error);
  return new DriverError(fallback.code, fallback.message, options);
}

/** An instance that ended, or whose machine is away. */
export function gone(cause?: unknown): DriverError {
  const detail = cause instanceof Error ? cause.message : undefined;
  return new DriverError('instance_gone', 'The sandbox is not running any more.', { cause, detail });
}

/** Runs a call to Incus and throws what its failure means. */
export async function translated<T>(
  task: () => Promise<T>,
  fallback: { code: DriverErrorCode; message: string },
): Promise<T> {
  try {
    return await task();
  } catch (error) {
    throw driverError(error, fallback);
  }
}

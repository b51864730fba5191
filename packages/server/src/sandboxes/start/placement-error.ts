import { DriverError } from '@svc/runtime/contract';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';

/** Returns whether an error says that a node has no place for a sandbox. Pure. */
export function isFull({ status, errorCode }: { status: number; errorCode?: unknown }): boolean {
  return status === 503 && errorCode === 'sandbox_capacity_unavailable';
}

/** Returns the error of a sandbox that could not be placed. */
export function placementError(error: unknown, timedOut: boolean): ApiError {
  if (ApiError.is(error)) return error;
  if (timedOut) return errors.placementTimeout(1);
  if (!DriverError.is(error)) return errors.placementFailed(error);
  switch (error.code) {
    case 'no_capacity':
    case 'storage_full':
      return errors.capacityUnavailable(error.message);
    // This machine misses a requirement; the message says what to do.
    case 'unsupported':
    case 'restore_failed':
      return errors.noCompatibleNode(error.message, error);
    // Nobody's machine could give that, such as volumes of two machines.
    case 'invalid_spec':
      return errors.badRequest(error.message);
    // A machine of the cluster that has what it needs is unreachable.
    case 'unreachable':
      return errors.nodeUnreachable(error);
    case 'timeout':
      return errors.placementTimeout(1);
    default:
      return errors.createFailed(error.message, error);
  }
}

/** Returns the error of a sandbox that could not be stored: busy 503, everything else 500 with the driver's reason, which may be shown. */
export function checkpointError(sandboxId: string, doing: string, error: unknown): ApiError {
  if (ApiError.is(error)) return error;
  if (!DriverError.is(error)) return errors.internal(error);
  switch (error.code) {
    case 'busy':
      return errors.nodeBusy(sandboxId);
    case 'storage_full':
      return errors.serverStorageFull();
    case 'unsupported':
      return errors.memorySnapshotMissing(`${doing} sandbox ${sandboxId} with its memory`);
    default:
      return errors.checkpointFailed(`${doing} sandbox ${sandboxId}`, error.message, error);
  }
}

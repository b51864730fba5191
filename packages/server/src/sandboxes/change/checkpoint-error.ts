import { DriverError } from '@svc/runtime';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';

/** Why a sandbox could not be stored: busy 503, everything else 500 with the driver's reason, which is fit to be shown. */
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

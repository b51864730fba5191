import { DatabaseLostError, DatabaseUnreachableError } from '../../storage/unreachable.js';
import { ApiError } from '../errors/api-error.js';
import { errors } from '../errors/catalog.js';

/** Turns whatever was thrown while a request was handled into an error of the catalog. */
export function toApiError(error: unknown, bodyLimitBytes: number): ApiError {
  if (ApiError.is(error)) return error;
  if (error instanceof DatabaseUnreachableError) return errors.databaseUnreachable(error);
  if (error instanceof DatabaseLostError) return errors.databaseLost(error);
  const code = (error as { code?: unknown })?.code;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return errors.bodyTooLarge(bodyLimitBytes);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return errors.validation('the content type cannot be read');
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH')
    return errors.validation('the body has another length than announced');
  if (code === 'FST_ERR_BAD_URL') return errors.validation('the path is not valid');
  const status = (error as { statusCode?: unknown })?.statusCode;
  if (typeof status === 'number' && status >= 400 && status < 500)
    return errors.validation('the request cannot be read');
  return errors.internal(error);
}

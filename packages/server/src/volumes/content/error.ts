import type { VolumeErrorCode as WireCode } from '@svc/platform';
import { DriverError, VolumeError, type VolumeErrorCode } from '@svc/runtime/contract';
import type { ApiError } from '../../api/errors/api-error.js';

/** A failure of the volume content API; its code is a word. */
export class VolumeContentError extends Error {
  override readonly name = 'VolumeContentError';
  constructor(
    readonly status: number,
    readonly code: WireCode,
    message: string,
  ) {
    super(message);
  }
}

const refuse = (status: number, code: WireCode, message: string) =>
  new VolumeContentError(status, code, message);

export const volumeErrors = {
  invalidRequest: (message: string) => refuse(400, 'invalid_request', message),
  unauthorized: () =>
    refuse(
      401,
      'unauthorized',
      'the volume token is missing, malformed or expired: read the volume for a fresh one',
    ),
  forbidden: (message = 'the token is that of another volume') => refuse(403, 'forbidden', message),
  volumeNotFound: () => refuse(404, 'volume_not_found', 'Volume not found'),
  unavailable: (message: string) => refuse(503, 'unavailable', message),
  internal: () => refuse(500, 'internal_error', 'internal server error'),
};

/** A failure of the server as a whole in the record of this API. */
export function fromApiError({ status, message }: ApiError): VolumeContentError {
  return status === 503 ? volumeErrors.unavailable(message) : refuse(status, 'invalid_request', message);
}

const STATUS: Record<VolumeErrorCode, number> = {
  invalid_request: 400,
  path_not_found: 404,
  path_already_exists: 409,
  not_a_directory: 400,
  is_a_directory: 400,
  cannot_delete_root: 400,
  depth_out_of_range: 400,
  no_space: 507,
  not_supported: 501,
};

/** Translates the failure of an operation on the files for the caller. */
export function fromVolumeError(error: unknown): VolumeContentError {
  if (error instanceof VolumeContentError) return error;
  if (VolumeError.is(error)) return refuse(STATUS[error.code], error.code, error.message);
  if (DriverError.is(error) && error.code === 'storage_full')
    return refuse(STATUS.no_space, 'no_space', 'no space is left for the volume');
  // Their machine is away, or there is too much to do at once.
  if (DriverError.is(error) && (error.code === 'unreachable' || error.code === 'no_capacity'))
    return volumeErrors.unavailable(error.message);
  return volumeErrors.internal();
}

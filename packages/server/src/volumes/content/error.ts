import type { VolumeErrorCode } from '@svc/platform';
import { DriverError } from '@svc/runtime';
import type { ApiError } from '../../errors/api-error.js';

/** A failure of the volume content API; its code is a word. */
export class VolumeContentError extends Error {
  override readonly name = 'VolumeContentError';
  constructor(
    readonly status: number,
    readonly code: VolumeErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const refuse = (status: number, code: VolumeErrorCode, message: string) =>
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
  pathNotFound: (path: string) => refuse(404, 'path_not_found', `${path} does not exist`),
  pathExists: (path: string) =>
    refuse(409, 'path_already_exists', `${path} exists already; use force to replace it`),
  notADirectory: (path: string) => refuse(400, 'not_a_directory', `${path} is not a directory`),
  isADirectory: (path: string) => refuse(400, 'is_a_directory', `${path} is a directory`),
  cannotDeleteRoot: () =>
    refuse(400, 'cannot_delete_root', 'the root of a volume cannot be deleted; delete the volume'),
  depthOutOfRange: () => refuse(400, 'depth_out_of_range', 'depth must be between 0 and 10'),
  tooManyEntries: (max: number) =>
    refuse(400, 'invalid_request', `the listing has more than ${max} entries: list less deeply, or a part`),
  tooManyLinks: (path: string) => refuse(400, 'invalid_request', `${path} leads through too many links`),
  noSpace: () => refuse(507, 'no_space', 'no space is left for the volume'),
  notSupported: (message: string) => refuse(501, 'not_supported', message),
  unavailable: (message: string) => refuse(503, 'unavailable', message),
  internal: () => refuse(500, 'internal_error', 'internal server error'),
};

/** A failure of the server as a whole in the record of this API. */
export function fromApiError({ status, message }: ApiError): VolumeContentError {
  return status === 503 ? volumeErrors.unavailable(message) : refuse(status, 'invalid_request', message);
}

/** EDQUOT. */
const QUOTA_EXCEEDED = -122;

/** What a failed system call means to the caller. */
export function fromErrno(error: unknown, path: string): VolumeContentError {
  if (error instanceof VolumeContentError) return error;
  if (DriverError.is(error) && error.code === 'storage_full') return volumeErrors.noSpace();
  // Node has no name for it.
  if ((error as NodeJS.ErrnoException | null)?.errno === QUOTA_EXCEEDED) return volumeErrors.noSpace();
  switch ((error as NodeJS.ErrnoException | null)?.code) {
    case 'ENOENT':
      return volumeErrors.pathNotFound(path);
    case 'EEXIST':
      return volumeErrors.pathExists(path);
    case 'ENOTDIR':
      return volumeErrors.notADirectory(path);
    case 'EISDIR':
      return volumeErrors.isADirectory(path);
    case 'ELOOP':
      return volumeErrors.tooManyLinks(path);
    case 'ENAMETOOLONG':
      return volumeErrors.invalidRequest(
        `a part of the path is longer than 255 bytes, or the path than 4096`,
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return volumeErrors.noSpace();
    case 'EPERM':
    case 'EACCES':
      return volumeErrors.notSupported('the service may not change this on its host');
    default:
      return volumeErrors.internal();
  }
}

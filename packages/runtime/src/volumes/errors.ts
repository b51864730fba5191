import { isDiskFull } from '#support/disk-full';
import { DriverError } from '../contract/errors.js';
import { VolumeError } from '../contract/volumes.js';

export const volumeErrors = {
  invalidRequest: (message: string) => new VolumeError('invalid_request', message),
  pathNotFound: (path: string) => new VolumeError('path_not_found', `${path} does not exist`),
  pathExists: (path: string) =>
    new VolumeError('path_already_exists', `${path} exists already; use force to replace it`),
  notADirectory: (path: string) => new VolumeError('not_a_directory', `${path} is not a directory`),
  isADirectory: (path: string) => new VolumeError('is_a_directory', `${path} is a directory`),
  cannotDeleteRoot: () =>
    new VolumeError('cannot_delete_root', 'the root of a volume cannot be deleted; delete the volume'),
  depthOutOfRange: () => new VolumeError('depth_out_of_range', 'depth must be between 0 and 10'),
  tooManyEntries: (max: number) =>
    new VolumeError(
      'invalid_request',
      `the listing has more than ${max} entries: list less deeply, or a part`,
    ),
  pathTooLong: () =>
    new VolumeError('invalid_request', 'a part of the path is longer than 255 bytes, or the path than 4096'),
  pathTooDeep: (most: number) =>
    new VolumeError('invalid_request', `the path leads through more than ${most} directories`),
  tooManyLinks: (path: string) => new VolumeError('invalid_request', `${path} leads through too many links`),
  noSpace: () => new VolumeError('no_space', 'no space is left for the volume'),
  notSupported: (message: string) => new VolumeError('not_supported', message),
};

/** Translates a failed system call for the caller; other errors stay as they are. */
export function fromErrno(error: unknown, path: string): unknown {
  if (VolumeError.is(error)) return error;
  if (DriverError.is(error)) return error.code === 'storage_full' ? volumeErrors.noSpace() : error;
  if (isDiskFull(error)) return volumeErrors.noSpace();
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
      return volumeErrors.pathTooLong();
    // A socket, or a device without a driver.
    case 'ENXIO':
      return volumeErrors.invalidRequest(`${path} is not a regular file`);
    case 'EPERM':
    case 'EACCES':
      return volumeErrors.notSupported('the service may not change this on its host');
    default:
      return error;
  }
}

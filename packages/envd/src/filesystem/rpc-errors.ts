import { Code, ConnectError } from '@connectrpc/connect';
import { InvalidPathError } from '../paths/index.js';

export type Operation = 'stat' | 'makeDir' | 'move' | 'listDir' | 'remove' | 'watch';

/** Which failure of the system becomes which code, by RPC. What a row does not name is `internal`. */
const CODES: Record<Operation, Readonly<Record<string, Code>>> = {
  stat: { ENOENT: Code.NotFound, ENOTDIR: Code.NotFound },
  makeDir: { EEXIST: Code.InvalidArgument, ENOTDIR: Code.InvalidArgument },
  // Only the source can be missing: the destination's parents are made.
  move: { ENOENT: Code.NotFound },
  listDir: { ENOENT: Code.NotFound, ENOTDIR: Code.InvalidArgument, ELOOP: Code.FailedPrecondition },
  remove: {},
  watch: { ENOENT: Code.NotFound, ENOTDIR: Code.InvalidArgument },
};

const TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EEXIST: 'exists and is not a directory',
  ELOOP: 'too many symbolic links',
  ENOTEMPTY: 'directory not empty',
  EXDEV: 'the destination is on another device',
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
  EROFS: 'read-only file system',
  ENXIO: 'not a regular file: a fifo that nobody reads, or a device without a driver',
  ETXTBSY: 'a program that runs cannot be written',
  ENAMETOOLONG: 'file name too long',
  ENOTSUP: 'the file system keeps no metadata of files',
};

/** The errno name of a failed system call. */
export function errnoName(error: unknown): string | undefined {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown };
  // Node has no name for a quota that is used up.
  if (errno === -122) return 'EDQUOT';
  return typeof code === 'string' ? code : undefined;
}

/** What the system said, in words. */
export function errnoText(error: unknown): string {
  const name = errnoName(error);
  return (name && TEXTS[name]) || name || 'unknown failure';
}

/** Turns anything that an RPC threw into the error that is documented for it. */
export function rpcError(error: unknown, operation: Operation, path: string): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof InvalidPathError) return new ConnectError(error.message, Code.InvalidArgument);
  const code = CODES[operation][errnoName(error) ?? ''] ?? Code.Internal;
  return new ConnectError(`${path}: ${errnoText(error)}`, code, undefined, undefined, error);
}

import { ConnectError } from '@connectrpc/connect';
import { errnoName, errnoText } from '../filesystem/rpc-errors.js';
import { InvalidPathError } from '../paths/index.js';

/** A failure with the status that it is answered with. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Which failure of the system, or of a decoder, is which status. The rest is 500. */
const STATUS: Readonly<Record<string, number>> = {
  ENOENT: 404,
  ENOTDIR: 400,
  EISDIR: 400,
  EEXIST: 400,
  ELOOP: 400,
  ENAMETOOLONG: 400,
  EINVAL: 400,
  // A fifo without a reader, a device without a driver.
  ENXIO: 400,
  // What the system does not let the daemon touch. 403 is the gateway's word for who may wake a sandbox.
  EACCES: 400,
  EPERM: 400,
  EROFS: 400,
  // Metadata of a file whose file system keeps none.
  ENOTSUP: 400,
  // A program that runs.
  ETXTBSY: 400,
  ENOSPC: 507,
  EDQUOT: 507,
  EFBIG: 507,
  Z_DATA_ERROR: 400,
  Z_BUF_ERROR: 400,
};

/** Turns anything that a route threw into its answer. `path` is what the message is about. */
export function toHttpFailure(error: unknown, path?: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (error instanceof InvalidPathError) return new HttpFailure(400, error.message);
  // The only RPC error that routes meet: an unknown user.
  if (error instanceof ConnectError) return new HttpFailure(401, error.rawMessage);
  const name = errnoName(error) ?? '';
  const status = STATUS[name] ?? 500;
  if (name.startsWith('Z_')) return new HttpFailure(status, 'the body is not valid gzip');
  return new HttpFailure(status, path === undefined ? errnoText(error) : `${path}: ${errnoText(error)}`);
}

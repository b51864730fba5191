import { Code, ConnectError } from '@connectrpc/connect';
import type { Compression } from '@connectrpc/connect/protocol';

/** gzip for incoming messages; zlib loads with the first one that is compressed. */
export const gzipCompression: Compression = {
  name: 'gzip',
  async compress(bytes) {
    const { gzip } = await import('node:zlib');
    return new Promise((resolve, reject) => {
      gzip(bytes, (error, result) => (error ? reject(error) : resolve(new Uint8Array(result))));
    });
  },
  async decompress(bytes, readMaxBytes) {
    if (bytes.byteLength === 0) return new Uint8Array(0);
    const { gunzip } = await import('node:zlib');
    return new Promise((resolve, reject) => {
      gunzip(bytes, { maxOutputLength: readMaxBytes }, (error: NodeJS.ErrnoException | null, result) => {
        if (!error) resolve(new Uint8Array(result));
        else if (error.code === 'ERR_BUFFER_TOO_LARGE')
          reject(new ConnectError(`message is larger than ${readMaxBytes} bytes`, Code.ResourceExhausted));
        else reject(new ConnectError('message is not valid gzip', Code.InvalidArgument));
      });
    });
  },
};

import { createServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import type { VolumeContent } from '../contract/volumes.js';
import { Driver } from '../gen/driver/driver_pb.js';
import { encodeFailures } from '../remote/encode-failures.js';
import { contentCalls } from '../remote/volume-calls.js';
import { MOST_COUNTED_MB, WINDOW_BYTES } from './window.js';

/** Answers calls about files of volumes on one connection, and ends this process with it. */
export function serveContentCalls(connection: Duplex, contentOf: (id: string) => VolumeContent): void {
  const handle = connectNodeAdapter({
    routes: (router) => router.service(Driver, contentCalls(contentOf)),
    interceptors: [encodeFailures],
    acceptCompression: [],
    grpc: false,
    grpcWeb: false,
  });
  const settings = { initialWindowSize: WINDOW_BYTES };
  const server = createServer({ settings, maxSessionMemory: MOST_COUNTED_MB }, handle);
  server.on('session', (session) => {
    session.setLocalWindowSize(WINDOW_BYTES);
    session.once('close', () => process.exit(0));
  });
  server.emit('connection', connection);
}

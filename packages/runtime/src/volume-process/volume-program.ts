#!/usr/bin/env node
// The process that works on files of volumes: whatever a tenant's links, names and races make of an operation, it happens in
// here. It is loaded first and put into its jail then (`assets/volume-jail.sh`), so that the jail need not hold its program.
// It serves descriptor 3 and ends with it.
import { createServer } from 'node:http2';
import { Socket } from 'node:net';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { Driver } from '../gen/driver/driver_pb.js';
import { tellFailures } from '../remote/tell-failures.js';
import { contentCalls } from '../remote/volume-calls.js';
import { volumeContent } from '../volumes/content.js';
import { ownedByRoot } from './owned-by-root.js';
import { WINDOW_BYTES } from './window.js';

/** Where the jail has them. */
const VOLUMES = '/volumes';

process.title = 'svc-volumes';

const handle = connectNodeAdapter({
  routes: (router) =>
    router.service(
      Driver,
      contentCalls((id) => ownedByRoot(volumeContent(id, async (each) => `${VOLUMES}/${each}`))),
    ),
  interceptors: [tellFailures],
  acceptCompression: [],
  grpc: false,
  grpcWeb: false,
});
const server = createServer({ settings: { initialWindowSize: WINDOW_BYTES } }, handle);
server.on('session', (session) => {
  session.setLocalWindowSize(WINDOW_BYTES);
  session.once('close', () => process.exit(0));
});
server.emit('connection', new Socket({ fd: 3, readable: true, writable: true }));
process.stdout.write('loaded\n');

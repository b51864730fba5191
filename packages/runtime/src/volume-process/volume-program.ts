#!/usr/bin/env node

// The process that works on files of volumes: however a tenant's links, names and races change an operation, it happens in
// here. It is loaded first and put into its jail then (`assets/volume-jail.sh`), so that the jail need not hold its program.
// It serves descriptor 3 and ends with it.
import { Socket } from 'node:net';
import type { VolumeContent } from '../contract/volumes.js';
import { volumeContent } from '../volumes/content.js';
import { serveContentCalls } from './serve-calls.js';

/** Where the jail has them. */
const VOLUMES = '/volumes';
const ROOT = { uid: 0, gid: 0 };

process.title = 'svc-volumes';

serveContentCalls(new Socket({ fd: 3, readable: true, writable: true }), (id) =>
  ownedByRoot(volumeContent(id, async (each) => `${VOLUMES}/${each}`)),
);
process.stdout.write('loaded\n');

/** New entries belong to root unless another owner is named, regardless of the process that makes them. */
function ownedByRoot(content: VolumeContent): VolumeContent {
  return {
    ...content,
    makeDirectory: (path, options) => content.makeDirectory(path, { ...ROOT, ...options }),
    write: (path, body, options) => content.write(path, body, { ...ROOT, ...options }),
  };
}

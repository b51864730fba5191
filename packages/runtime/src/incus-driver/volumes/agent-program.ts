#!/usr/bin/env node
// Works on the files of one volume, in a container that has nothing but it: however a tenant's links, names and races change an
// operation, it happens in there. It is called over its standard input and output, and ends with them.
import { Duplex } from 'node:stream';
import { serveContentCalls } from '../../volume-process/serve-calls.js';
import { volumeContent } from '../../volumes/content.js';

process.title = 'svc-volume';
const [root] = process.argv.slice(2);
if (root === undefined) throw new Error('usage: agent-program DIRECTORY');

serveContentCalls(Duplex.from({ readable: process.stdin, writable: process.stdout }), (id) =>
  volumeContent(id, async () => root),
);

#!/usr/bin/env node
import { run } from './program/run.js';

// `svc ... | head` ends the pipe early; that is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

const exitCode = await run(process.argv.slice(2));
// Open handles, such as a terminal that waits for keys, must not keep a finished command.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));

#!/usr/bin/env node
// The process that has the rights of root, started by itself: a driver, served to the server over a socket. It ends when the
// server that used it exited, to be started again; sandboxes run on.
import { DriverError } from '@svc/runtime/contract';
import { runAlone } from './run-alone.js';

process.title = 'svc-runtime';
runAlone().then(
  () => process.exit(0),
  (error: unknown) => {
    const detail = DriverError.is(error) && error.detail !== undefined ? `\n${error.detail}` : '';
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}${detail}\n`);
    process.exit(1);
  },
);

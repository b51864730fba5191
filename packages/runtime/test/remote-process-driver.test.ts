import { createProcessDriver } from '../src/index.js';
import { describeDriver } from '../src/testing.js';
import { envdBundle } from './envd-bundle.js';
import { overSocket } from './serve-for-test.js';

describeDriver(
  'process, over a socket',
  async ({ dataDir }) => overSocket(await createProcessDriver({ dataDir, daemon: envdBundle })),
  { skip: process.platform === 'win32' ? 'it needs POSIX signals' : undefined },
);

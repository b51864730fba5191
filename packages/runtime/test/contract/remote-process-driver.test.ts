import { createProcessDriver } from '../../src/process.js';
import { describeDriver } from '../../src/testing.js';
import { envdProgram } from '../support/envd-program.js';
import { overSocket } from '../support/serve-for-test.js';

describeDriver(
  'process, over a socket',
  async ({ dataDir }) => overSocket(await createProcessDriver({ dataDir, daemon: envdProgram })),
  { skip: process.platform === 'win32' ? 'it needs POSIX signals' : undefined },
);

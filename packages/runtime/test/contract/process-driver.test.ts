import { createProcessDriver } from '../../src/process.js';
import { describeDriver } from '../../src/testing.js';
import { envdProgram } from '../support/envd-program.js';

describeDriver('process', ({ dataDir }) => createProcessDriver({ dataDir, daemon: envdProgram }), {
  skip: process.platform === 'win32' ? 'it needs POSIX signals' : undefined,
});

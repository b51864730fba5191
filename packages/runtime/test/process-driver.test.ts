import { createProcessDriver } from '../src/index.js';
import { describeDriver } from '../src/testing.js';
import { envdBundle } from './envd-bundle.js';

describeDriver('process', ({ dataDir }) => createProcessDriver({ dataDir, daemon: envdBundle }), {
  skip: process.platform === 'win32' ? 'it needs POSIX signals' : undefined,
});

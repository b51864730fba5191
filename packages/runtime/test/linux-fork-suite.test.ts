import { createLinuxDriver } from '../src/linux-driver/index.js';
import { envdProgram } from './envd-program.js';
import { describeForks } from './fork-suite.js';
import { memorySkipReason } from './linux-host.js';

describeForks(
  'linux',
  ({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdProgram, storeSizeMiB: 16_384 }),
  { skip: memorySkipReason() },
);

import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { envdProgram } from '../support/envd-program.js';
import { describeForks } from '../support/fork-suite.js';
import { memorySkipReason } from '../support/linux-host.js';

describeForks(
  'linux',
  ({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdProgram, storeSizeMiB: 16_384 }),
  { skip: memorySkipReason() },
);

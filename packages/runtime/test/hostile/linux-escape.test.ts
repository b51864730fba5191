import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { describeEscapes } from '../../src/testing.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason } from '../support/linux-host.js';

describeEscapes(
  'linux',
  ({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdProgram, storeSizeMiB: 4096 }),
  { skip: linuxSkipReason() },
);

import { createLinuxDriver } from '../src/linux-driver/index.js';
import { envdBundle } from './envd-bundle.js';
import { describeForks } from './fork-suite.js';
import { memorySkipReason } from './linux-host.js';

describeForks(
  'linux',
  ({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdBundle, storeSizeMiB: 16_384 }),
  { skip: memorySkipReason() },
);

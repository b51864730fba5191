import { createLinuxDriver } from '../src/linux-driver/index.js';
import { describeEscapes } from '../src/testing.js';
import { envdBundle } from './envd-bundle.js';
import { linuxSkipReason } from './linux-host.js';

describeEscapes(
  'linux',
  ({ dataDir }) => createLinuxDriver({ dataDir, daemon: envdBundle, storeSizeMiB: 4096 }),
  { skip: linuxSkipReason() },
);

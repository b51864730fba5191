import { createLinuxDriver } from '../src/linux-driver/index.js';
import { describeDriver } from '../src/testing.js';
import { envdBundle } from './envd-bundle.js';
import { gvisorSkipReason } from './linux-host.js';
import { linuxRemains } from './linux-remains.js';

describeDriver(
  'linux with gVisor',
  ({ dataDir }) =>
    createLinuxDriver({ dataDir, daemon: envdBundle, storeSizeMiB: 4096, isolation: 'gvisor' }),
  { skip: gvisorSkipReason(), remains: linuxRemains },
);

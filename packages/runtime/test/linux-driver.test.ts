import { createLinuxDriver } from '../src/linux-driver/index.js';
import { describeDriver } from '../src/testing.js';
import { envdProgram } from './envd-program.js';
import { linuxSkipReason } from './linux-host.js';
import { linuxLeaks } from './linux-leaks.js';

describeDriver(
  'linux',
  ({ dataDir }) =>
    createLinuxDriver({
      dataDir,
      daemon: envdProgram,
      storeSizeMiB: 4096,
      transferKey: Buffer.alloc(32, 'k'),
    }),
  { skip: linuxSkipReason(), leaks: linuxLeaks },
);

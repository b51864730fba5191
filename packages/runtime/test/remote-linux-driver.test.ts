import { createLinuxDriver } from '../src/linux-driver/index.js';
import { describeDriver } from '../src/testing.js';
import { envdBundle } from './envd-bundle.js';
import { linuxSkipReason } from './linux-host.js';
import { linuxLeaks } from './linux-leaks.js';
import { overSocket } from './serve-for-test.js';

describeDriver(
  'linux, over a socket',
  async ({ dataDir }) =>
    overSocket(
      await createLinuxDriver({
        dataDir,
        daemon: envdBundle,
        storeSizeMiB: 4096,
        transferKey: Buffer.alloc(32, 'k'),
      }),
    ),
  { skip: linuxSkipReason(), leaks: linuxLeaks },
);

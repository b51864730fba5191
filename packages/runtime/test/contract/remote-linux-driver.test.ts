import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { describeDriver } from '../../src/testing.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason } from '../support/linux-host.js';
import { linuxLeaks } from '../support/linux-leaks.js';
import { overSocket } from '../support/serve-for-test.js';

describeDriver(
  'linux, over a socket',
  async ({ dataDir }) =>
    overSocket(
      await createLinuxDriver({
        dataDir,
        daemon: envdProgram,
        storeSizeMiB: 4096,
        transferKey: Buffer.alloc(32, 'k'),
      }),
    ),
  { skip: linuxSkipReason(), leaks: linuxLeaks },
);

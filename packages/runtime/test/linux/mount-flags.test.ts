import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleModule } from '../support/bundle-module.js';
import { envdProgram } from '../support/envd-program.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();
const stockMounts = fileURLToPath(new URL('../../../../scripts/stock-mounts.sh', import.meta.url));

/**
 * The extra changes to the mounts: shell commands, DATA is the data directory. It contains no store of its own, which would be a mount
 * with the driver's flags.
 */
const HOSTS = [
  { name: 'with the mount flags of a stock Debian', more: ':' },
  {
    name: 'that lets nothing be run from /dev, /tmp and the data directory',
    more: `for point in /dev /tmp /dev/shm; do mount -o remount,bind,nosuid,noexec $point; done
      mount --bind "$DATA" "$DATA"; mount -o remount,bind,nosuid,nodev,noexec,noatime "$DATA"`,
  },
  {
    name: 'whose /dev/null is open to root alone',
    more: 'mount -t tmpfs -o mode=755 tmpfs /mnt; mknod -m 600 /mnt/null c 1 3; mount --bind /mnt/null /dev/null',
  },
];

describe.skipIf(skip !== undefined)('a host', () => {
  let program: Awaited<ReturnType<typeof bundleModule>>;
  let parent: string;
  beforeAll(async () => {
    program = await bundleModule('test/fixtures/flagged-driver.ts', 'flagged-driver.mjs');
    parent = await mkdtemp(join(tmpdir(), 'flags-'));
  });
  afterAll(async () => {
    for (const directory of [program.directory, parent])
      await rm(directory, { recursive: true, force: true });
  });

  for (const { name, more } of HOSTS)
    for (const restoreBy of ['driver', 'runtime'])
      it(`${name} restores memory, CRIU called by the ${restoreBy}`, async () => {
        const dataDir = await mkdtemp(join(parent, 'data-'));
        const options = { dataDir, daemon: envdProgram, restoreBy, storeSizeMiB: 0 };
        const { stdout } = await promisify(execFile)(
          stockMounts,
          ['sh', '-ec', `${more}\nexec "$@"`, 'sh', process.execPath, program.file, JSON.stringify(options)],
          { env: { ...process.env, DATA: dataDir } },
        );
        expect(stdout).toBe('restored\n'.repeat(3));
      });
});

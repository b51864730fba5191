import { appendFile, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DaemonProgram } from '../../src/contract/driver.js';
import { baseDirectory, baseRecipe, findBase } from '../../src/host/base-root.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { runProgram } from '../../src/shared/run-program.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { countReaches, readCount, startCounting } from '../../src/testing/programs.js';
import { Workbench } from '../../src/testing/workbench.js';
import { envdProgram } from '../support/envd-program.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();
const base = findBase(baseDirectory({}), await baseRecipe());
if (base === undefined) console.warn('Upgrades below the template base are not tested: it is not built.');
const roots = base === undefined ? (['host'] as const) : (['host', 'debian'] as const);

/** Programs of the host that a sandbox has open, if it shows them. */
const OF_HOST = ['/usr/bin/dash', '/usr/bin/sleep', '/usr/lib/x86_64-linux-gnu/libc.so.6'];

describe.skipIf(skip !== undefined).each(roots)(
  'a host that is upgraded while sandboxes of %s are paused',
  (baseRoot) => {
    let daemon: DaemonProgram;
    let home: string;
    let bench: Workbench;
    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'svc-upgrade-'));
      daemon = envdProgram;
      // An overlay plays the upgraded /usr below, and such a file system takes no ids of its own.
      const ids = baseRoot === 'host' ? ({ ids: false } as const) : {};
      bench = new Workbench(({ dataDir }) => createLinuxDriver({ dataDir, daemon, baseRoot, ...ids }));
      await bench.open();
    });
    afterAll(async () => {
      await bench.close();
      await bench.remove();
      await rm(home, { recursive: true, force: true });
    });

    /** Every file that programs of sandboxes have mapped becomes another one, and the daemon a later version. */
    async function upgrade(): Promise<void> {
      const entry = join(home, 'envd');
      await cp(envdProgram.entry, entry);
      // Text after a program in its file is not read.
      await appendFile(entry, 'a later version');
      daemon = { entry };
      await bench.reopen();
      const { pid } = JSON.parse(await readFile(join(bench.dataDir, 'keeper.json'), 'utf8')) as {
        pid: number;
      };
      const changed = join(home, 'usr');
      for (const file of OF_HOST) {
        const target = join(changed, file.slice('/usr'.length));
        await mkdir(dirname(target), { recursive: true });
        await cp(file, target, { dereference: true });
        await appendFile(target, 'a later version');
      }
      // In the driver's own mount namespace, as a package manager would on the whole host.
      const { exitCode, stderr } = await runProgram('nsenter', [
        `--mount=/proc/${pid}/ns/mnt`,
        ...['mount', '-t', 'overlay', 'overlay', '-o', `lowerdir=${changed}:/usr`, '/usr'],
      ]);
      expect(stderr).toBe('');
      expect(exitCode).toBe(0);
    }

    const restore = (id: string, memory: boolean) =>
      bench.driver.restore({ id, checkpointId: 'paused', memory, spec: bench.spec({}) });

    it(
      baseRoot === 'host'
        ? 'refuses their memory, says why and what to do, and starts them cold with their files'
        : 'resumes, forks and starts them cold all the same',
      async () => {
        const { instance, client } = await bench.create();
        await startCounting(client);
        await client.output('echo kept >kept');
        const count = await readCount(client);
        await instance.checkpoint({ checkpointId: 'paused', memory: true, then: 'destroy' });
        await upgrade();
        if (baseRoot === 'host') {
          await expect(restore('resumed', true)).rejects.toMatchObject({
            code: 'unsupported',
            message: expect.stringMatching(
              /have been replaced since \(\/usr\/.*start it cold with memory: false/,
            ),
          });
        } else {
          const resumed = new DaemonClient(await restore('resumed', true));
          await countReaches(resumed, count + 3);
          const forked = await bench.driver.adopt('resumed');
          await forked!.checkpoint({ checkpointId: 'forked', memory: true, then: 'continue' });
          for (const id of ['fork1', 'fork2']) {
            const spec = bench.spec({});
            const copy = await bench.driver.restore({ id, checkpointId: 'forked', memory: true, spec });
            await countReaches(new DaemonClient(copy), count + 4);
          }
        }
        const cold = new DaemonClient(await restore('cold', false));
        expect(await cold.output('cat kept')).toBe('kept');
        const fresh = await bench.create();
        expect(await fresh.client.output('echo works')).toBe('works');
      },
    );
  },
);

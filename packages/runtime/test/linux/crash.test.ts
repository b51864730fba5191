import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { Cgroups } from '../../src/linux-driver/cgroups/cgroups.js';
import { createLinuxDriver } from '../../src/linux-driver/create-linux-driver.js';
import { NamespaceKeeper } from '../../src/linux-driver/namespace/namespace-keeper.js';
import { type Paths, pathsOf } from '../../src/linux-driver/state/paths.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { findLeaks } from '../../src/testing/leaks.js';
import { bundleModule } from '../support/bundle-module.js';
import { envdProgram } from '../support/envd-program.js';
import { linuxSkipReason } from '../support/linux-host.js';

const skip = linuxSkipReason();
/** When the driver is killed after it is ready, ms: within a create, a checkpoint, a restore, a destroy. */
const MOMENTS_MS = [20, 300, 700, 1100];

function imagesInMemory(paths: Paths): string[] {
  const keeper = NamespaceKeeper.find(paths);
  return keeper === undefined ? [] : readdirSync(keeper.view('/run/images'));
}

describe.skipIf(skip !== undefined)('a linux driver that is killed', () => {
  it('leaves nothing half-made, and what lived can be adopted', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'crash-'));
    const dataDir = join(parent, 'data');
    const bundle = await bundleModule('test/fixtures/busy-driver.ts', 'busy-driver.mjs');
    const paths = pathsOf(dataDir);
    try {
      for (const moment of MOMENTS_MS) {
        const child = spawn(process.execPath, [bundle.file, dataDir, envdProgram.entry], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const ended = once(child, 'exit');
        expect(String(await Promise.race([once(child.stdout, 'data'), ended]))).toBe('ready\n');
        await sleep(moment);
        child.kill('SIGKILL');
        await ended;

        const driver = await createLinuxDriver({ dataDir, daemon: envdProgram });
        const alive: string[] = [];
        for (const { id } of await driver.list()) {
          const instance = await driver.adopt(id);
          if (instance === undefined) continue;
          expect(await new DaemonClient(instance).output('echo alive')).toBe('alive');
          alive.push(id);
        }
        await driver.reap({ instanceIds: alive, checkpointIds: [] });
        expect((await driver.list()).map(({ id }) => id).sort()).toEqual(alive.sort());
        expect(await driver.listCheckpoints()).toEqual([]);
        await eventually('images in memory to be removed', () => imagesInMemory(paths).length === 0);
        await driver.close({ destroyInstances: moment === MOMENTS_MS.at(-1) });
      }
      expect(readdirSync(paths.instances)).toEqual([]);
      expect(readdirSync(paths.oci)).toEqual([]);
      expect(new Cgroups(paths.tag).names()).toEqual([]);
      expect(readdirSync('/sys/class/net').filter((name) => name.includes(paths.tag))).toEqual([]);
      expect(findLeaks(dataDir)).toEqual([]);
    } finally {
      const driver = await createLinuxDriver({ dataDir, daemon: envdProgram });
      await driver.reap({ instanceIds: [], checkpointIds: [] });
      await driver.close({ destroyInstances: true });
      await rm(parent, { recursive: true, force: true });
      await rm(bundle.directory, { recursive: true, force: true });
    }
  }, 240_000);
});

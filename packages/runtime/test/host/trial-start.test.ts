import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { criuDirectory } from '../../src/host/programs.js';
import { selectDriver } from '../../src/select-driver.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { envdProgram } from '../support/envd-program.js';
import { memorySkipReason } from '../support/linux-host.js';

const skip = memorySkipReason();

describe.skipIf(skip !== undefined)('the trial start of a driver', () => {
  let parent: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'trial-'));
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  const select = (linux: { criuDirectory?: string } = {}) =>
    selectDriver({
      dataDir: join(parent, 'data'),
      daemon: envdProgram,
      preferred: 'linux',
      trialStart: true,
      linux: { storeSizeMiB: 0, ...linux },
    });

  it('stores and restores memory', async () => {
    const { driver, trial, why } = await select();
    expect(trial).toEqual({ startedMs: expect.any(Number), restoredMs: expect.any(Number) });
    expect(why).toMatch(
      /A sandbox started in \d+ ms and was stored and restored with its memory in \d+ ms\.$/,
    );
    expect(driver.capabilities.memorySnapshot).toBe(true);
    expect([await driver.list(), await driver.listCheckpoints()]).toEqual([[], []]);
    await driver.close({ destroyInstances: true });
  });

  it('takes the capability of memory snapshots from a host that stores memory and cannot restore it', async () => {
    // As where the kernel refuses CRIU something of a restore: it can do everything else.
    const criu = join(parent, 'criu');
    const refusing = `#!/bin/sh
case " $* " in
*" restore "*) set -- check --no-such-option ;;
esac
exec ${join(criuDirectory({}), 'criu')} "$@"
`;
    await writeFile(criu, refusing);
    await chmod(criu, 0o755);
    const { driver } = await select({ criuDirectory: parent });
    expect(driver.capabilities.memorySnapshot).toBe(false);
    expect(driver.capabilities.reasons.join(' ')).toMatch(
      /Memory cannot be stored and restored on this host: ./,
    );
    const spec = { layers: [], limits: {}, network: { egress: 'none' as const }, mounts: [], labels: {} };
    const instance = await driver.create({ id: 'lives', spec });
    await expect(
      instance.checkpoint({ checkpointId: 'no', memory: true, then: 'destroy' }),
    ).rejects.toMatchObject({
      code: 'unsupported',
    });
    expect(await new DaemonClient(instance).output('echo on')).toBe('on');
    await driver.close({ destroyInstances: true });
  });
});

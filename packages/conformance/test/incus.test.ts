import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTrialCluster, stopTrialCluster } from '@svc/runtime/incus';
import { test, vi } from 'vitest';
import { linuxLacks } from '../src/linux-host.js';
import { describeConformance } from '../src/run/describe-conformance.js';
import { startEmbedded } from '../src/targets/embedded.js';

// Members unpack whole images while others run.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const lacks = process.env.SVC_HEAVY === '1' ? await linuxLacks() : 'SVC_HEAVY=1 is not set';

if (lacks === undefined) {
  describeConformance('incus', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'conformance-incus-'));
    const directory = join(parent, 'cluster');
    const remove = async () => {
      await stopTrialCluster({ directory });
      await rm(parent, { recursive: true, force: true });
    };
    try {
      const { members } = await startTrialCluster({ directory, members: 3, diskMiB: 20_480 });
      const address = members.map(({ socket }) => socket).join(',');
      const target = await startEmbedded('incus', { incus: { address } });
      return { ...target, close: () => target.close().finally(remove) };
    } catch (error) {
      await remove();
      throw error;
    }
  });
} else {
  console.warn(`conformance on incus: skipped. ${lacks}`);
  test.skip(`conformance on incus: ${lacks}`, () => {});
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import type { Driver } from '../src/contract/driver.js';
import type { Instance } from '../src/contract/instance.js';
import { createIncusDriver } from '../src/incus-driver/index.js';
import { DaemonClient } from '../src/testing/daemon-client.js';
import { clusterStatus } from '../src/trial-cluster/index.js';
import { killTrialMember, returnTrialMember } from '../src/trial-cluster/trial-cluster.js';
import { envdBundle } from './envd-bundle.js';
import {
  INCUS_TEST_MS,
  incusSkipReason,
  leakedByCluster,
  startTestCluster,
  type TestCluster,
} from './incus-host.js';

vi.setConfig({ testTimeout: INCUS_TEST_MS, hookTimeout: INCUS_TEST_MS });

const SANDBOXES = 60;
const LOST = 'm2';
const skip = incusSkipReason();

describe.skipIf(skip !== undefined)('a cluster of three that loses a machine', () => {
  let cluster: TestCluster;
  let dataDir: string;
  let driver: Driver;
  const made: Instance[] = [];

  beforeAll(async () => {
    cluster = await startTestCluster(3);
    dataDir = await mkdtemp(join(tmpdir(), 'incus-driver-'));
    driver = await open();
  });

  afterAll(async () => {
    await driver?.close();
    await cluster?.stop();
    if (dataDir !== undefined) await rm(dataDir, { recursive: true, force: true });
  });

  const open = () => createIncusDriver({ dataDir, daemon: envdBundle, address: cluster.address });
  const spec = {
    layers: [],
    limits: { memoryMiB: 512 },
    network: { egress: 'internet' },
    mounts: [],
    labels: {},
  } as const;
  const create = (id: string) => driver.create({ id, spec: { ...spec, layers: [], mounts: [], labels: {} } });
  const counts = async () => {
    const { members } = await clusterStatus({ address: cluster.address });
    return new Map(members.map(({ name, sandboxes }) => [name, sandboxes]));
  };
  const answers = async (instance: Instance) =>
    (await new DaemonClient(instance).output('hostname')) === instance.id;

  it(`spreads ${SANDBOXES} sandboxes over its members, and reaches all of them`, async () => {
    made.push(...(await Promise.all(Array.from({ length: SANDBOXES }, (_, n) => create(`box${n}`)))));
    for (const instance of made) expect(await answers(instance)).toBe(true);
    const spread = await counts();
    expect([...spread.keys()].sort()).toEqual(['m1', 'm2', 'm3']);
    for (const [name, count] of spread) expect(count, name).toBeGreaterThanOrEqual(SANDBOXES / 6);
  });

  it('goes on without the machine, whose sandboxes alone end with the documented error', async () => {
    const before = await counts();
    await killTrialMember(cluster.plan, LOST);
    const ends = new Map<Instance, string>();
    for (const instance of made) void instance.ended.then(({ reason }) => ends.set(instance, reason));
    await eventually('the end of what was lost', () => ends.size >= before.get(LOST)!, INCUS_TEST_MS);
    expect(ends.size).toBe(before.get(LOST));
    for (const instance of made) {
      if (!ends.has(instance)) expect(await answers(instance)).toBe(true);
      else await expect(instance.dial(49_983)).rejects.toMatchObject({ code: 'instance_gone' });
    }
    expect([...ends.values()].every((reason) => reason === 'exited')).toBe(true);
    expect(SANDBOXES - ends.size).toBe(before.get('m1')! + before.get('m3')!);
  });

  it('makes new sandboxes meanwhile, on those that are left', async () => {
    const fresh = await Promise.all(['new1', 'new2', 'new3', 'new4'].map(create));
    for (const instance of fresh) expect(await answers(instance)).toBe(true);
    for (const instance of fresh) await instance.destroy();
  });

  it('is found again by a driver that starts while the machine is away', async () => {
    const living = made.filter((instance) => instance.id !== undefined);
    const before = (await driver.list()).filter(({ state }) => state === 'running').map(({ id }) => id);
    await driver.close();
    driver = await open();
    await eventually('those that are lost to be told apart', async () => {
      const running = (await driver.list()).filter(({ state }) => state === 'running');
      return running.length === before.length;
    });
    expect(living.length).toBe(SANDBOXES);
    const one = await driver.adopt(before[0]!);
    expect(await answers(one!)).toBe(true);
  });

  it('takes the machine back, and nothing that was lost stays on it', async () => {
    await returnTrialMember(cluster.plan, LOST);
    await eventually(
      'the member to be back',
      async () => {
        const { members } = await clusterStatus({ address: cluster.address });
        return members.every(({ status }) => status === 'Online');
      },
      INCUS_TEST_MS,
    );
    const kept = (await driver.list()).filter(({ state }) => state === 'running').map(({ id }) => id);
    await eventually(
      'the lost ones to be removed',
      async () => {
        await driver.reap({ instanceIds: kept, checkpointIds: [] });
        return (await counts()).get(LOST) === 0;
      },
      INCUS_TEST_MS,
    );
    const again = await Promise.all(['back1', 'back2', 'back3'].map(create));
    for (const instance of again) expect(await answers(instance)).toBe(true);
    expect((await counts()).get(LOST)).toBeGreaterThan(0);
  });

  it('leaves no sandbox once all are destroyed, and nothing on the host once it ends', async () => {
    await driver.close({ destroyInstances: true });
    const { members } = await clusterStatus({ address: cluster.address });
    expect(members.map(({ sandboxes }) => sandboxes)).toEqual([0, 0, 0]);
    const { plan } = cluster;
    await cluster.stop();
    await eventually('nothing to be left', () => leakedByCluster(plan).length === 0).catch(() => undefined);
    expect(leakedByCluster(plan)).toEqual([]);
  });
});

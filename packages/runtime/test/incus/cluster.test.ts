import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import type { Driver } from '../../src/contract/driver.js';
import type { Instance } from '../../src/contract/instance.js';
import { IncusClient } from '../../src/incus/incus-client.js';
import { createIncusDriver } from '../../src/incus-driver/create-incus-driver.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { clusterStatus } from '../../src/trial-cluster/cluster-status.js';
import { killTrialMember, returnTrialMember } from '../../src/trial-cluster/trial-cluster.js';
import { envdProgram } from '../support/envd-program.js';
import {
  INCUS_TEST_MS,
  incusSkipReason,
  leakedByCluster,
  startTestCluster,
  type TestCluster,
} from '../support/incus-host.js';

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

  const open = () => createIncusDriver({ dataDir, daemon: envdProgram, address: cluster.address });
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
  /** Members of sandboxes, by id. */
  const locations = async () => {
    const client = new IncusClient({ address: cluster.address, project: 'svc' });
    const found = await client.call<{ location: string; config: Record<string, string> | null }[]>({
      path: '/instances',
      query: { recursion: '1' },
    });
    client.close();
    return new Map(found.map(({ location, config }) => [config?.['user.svc.id'] ?? '', location]));
  };
  const checkpointIds = async () => (await driver.listCheckpoints()).map(({ id }) => id);
  const restore = (id: string, checkpointId: string) =>
    driver.restore({
      id,
      checkpointId,
      memory: false,
      spec: { ...spec, layers: [], mounts: [], labels: {} },
    });
  const answers = async (instance: Instance) =>
    (await new DaemonClient(instance).output('hostname')) === instance.id;

  it(`spreads ${SANDBOXES} sandboxes over its members, and reaches all of them`, async () => {
    made.push(...(await Promise.all(Array.from({ length: SANDBOXES }, (_, n) => create(`box${n}`)))));
    for (const instance of made) expect(await answers(instance)).toBe(true);
    const spread = await counts();
    expect([...spread.keys()].sort()).toEqual(['m1', 'm2', 'm3']);
    for (const [name, count] of spread) expect(count, name).toBeGreaterThanOrEqual(SANDBOXES / 6);
  });

  it('stores checkpoints on the machines of their sources', async () => {
    const where = await locations();
    for (const member of ['m1', LOST, 'm3']) {
      const source = made.find(({ id }) => where.get(id) === member)!;
      await new DaemonClient(source).output(`echo ${member} > note`);
      await source.checkpoint({ checkpointId: `of-${member}`, memory: false, then: 'continue' });
    }
    expect(await checkpointIds()).toEqual(['of-m1', 'of-m2', 'of-m3']);
  });

  it('continues without the machine, whose sandboxes alone end with the documented error', async () => {
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
    const running = async () =>
      (await driver.list())
        .filter(({ state }) => state === 'running')
        .map(({ id }) => id)
        .sort();
    const before = await running();
    await driver.close();
    driver = await open();
    await eventually(
      'the running ones to be distinguished',
      async () => (await running()).length <= before.length,
    );
    expect(await running()).toEqual(before);
    for (const id of before) expect(await answers((await driver.adopt(id))!), id).toBe(true);
  });

  it('still knows checkpoints of the machine that is away, and restores those of others', async () => {
    expect(await checkpointIds()).toEqual(['of-m1', 'of-m2', 'of-m3']);
    const copy = await restore('copy1', 'of-m1');
    expect(await new DaemonClient(copy).output('cat note')).toBe('m1');
    await copy.destroy();
    const lost = await restore('copy2', 'of-m2').catch((error: unknown) => error);
    expect(lost).toMatchObject({ code: expect.stringMatching(/^(restore_failed|unreachable)$/) });
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
        await driver.reap({ instanceIds: kept, checkpointIds: await checkpointIds() });
        return (await counts()).get(LOST) === 0;
      },
      INCUS_TEST_MS,
    );
    const copy = await restore('copy3', 'of-m2');
    expect(await new DaemonClient(copy).output('cat note')).toBe('m2');
    const again = await Promise.all(['back1', 'back2', 'back3'].map(create));
    for (const instance of again) expect(await answers(instance)).toBe(true);
    expect((await counts()).get(LOST)).toBeGreaterThan(0);
  });

  it('moves checkpoints of a machine that is evacuated, and ends its sandboxes', async () => {
    const where = await locations();
    const ends = new Map<string, string>();
    const living = await Promise.all(
      (await driver.list()).filter(({ state }) => state === 'running').map(({ id }) => driver.adopt(id)),
    );
    for (const instance of living) void instance!.ended.then(({ reason }) => ends.set(instance!.id, reason));
    const client = new IncusClient({ address: cluster.address });
    await client.call({ method: 'POST', path: '/cluster/members/m3/state', body: { action: 'evacuate' } });
    client.close();
    const expected = living
      .filter((instance) => where.get(instance!.id) === 'm3')
      .map((instance) => instance!.id);
    expect(expected.length).toBeGreaterThan(0);
    await eventually(
      'its sandboxes to end',
      () => expected.every((id) => ends.get(id) === 'exited'),
      INCUS_TEST_MS,
    );
    expect(ends.size).toBe(expected.length);
    const copy = await restore('copy4', 'of-m3');
    expect(await new DaemonClient(copy).output('cat note')).toBe('m3');
    expect((await locations()).get('copy4')).not.toBe('m3');
  });

  it('leaves no sandbox once all are destroyed, and nothing on the host once it ends', async () => {
    for (const id of await checkpointIds()) await driver.deleteCheckpoint(id);
    await driver.close({ destroyInstances: true });
    const { members, checkpoints } = await clusterStatus({ address: cluster.address });
    expect(members.map(({ sandboxes }) => sandboxes)).toEqual([0, 0, 0]);
    expect(checkpoints).toBe(0);
    const { plan } = cluster;
    await cluster.stop();
    await eventually('nothing to be left', () => leakedByCluster(plan).length === 0).catch(() => undefined);
    expect(leakedByCluster(plan)).toEqual([]);
  });
});

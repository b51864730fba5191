import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Driver } from '../../src/contract/driver.js';
import { createIncusDriver } from '../../src/incus-driver/create-incus-driver.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
import { clusterStatus } from '../../src/trial-cluster/cluster-status.js';
import { envdProgram } from '../support/envd-program.js';
import { INCUS_TEST_MS, incusSkipReason, startTestCluster, type TestCluster } from '../support/incus-host.js';

vi.setConfig({ testTimeout: INCUS_TEST_MS, hookTimeout: INCUS_TEST_MS });

const skip = incusSkipReason();

describe.skipIf(skip !== undefined)('two drivers on one project of a cluster', () => {
  let cluster: TestCluster;
  const dataDirs: string[] = [];
  let first: Driver;
  let second: Driver;

  const open = (dataDir: string, range?: string) =>
    createIncusDriver({ dataDir, daemon: envdProgram, address: cluster.address, range });
  const spec = () => ({
    layers: [] as string[],
    limits: { memoryMiB: 512 },
    network: { egress: 'internet' as const },
    mounts: [],
    labels: {},
  });
  const create = (driver: Driver, id: string, layers: string[] = []) =>
    driver.create({ id, spec: { ...spec(), layers } });
  const instances = async () => {
    const { members, checkpoints } = await clusterStatus({ address: cluster.address });
    return members.reduce((sum, { sandboxes }) => sum + sandboxes, 0) + checkpoints;
  };

  beforeAll(async () => {
    cluster = await startTestCluster(2);
    for (const name of ['a', 'b']) dataDirs.push(await mkdtemp(join(tmpdir(), `incus-shared-${name}-`)));
    // Six addresses, so that both want the same ones.
    first = await open(dataDirs[0]!, '10.77.16.0/29');
    second = await open(dataDirs[1]!, '10.77.16.0/29');
  });

  afterAll(async () => {
    await first?.close();
    await second?.close();
    await cluster?.stop();
    for (const dataDir of dataDirs) await rm(dataDir, { recursive: true, force: true });
  });

  it('are on the same cluster, and never give one address twice', async () => {
    expect(first.shared!.clusterId).toBe(second.shared!.clusterId);
    await (await create(first, 'warm')).destroy();
    const made = await Promise.all(
      ['a1', 'b1', 'a2', 'b2', 'a3', 'b3'].map((id) => create(id.startsWith('a') ? first : second, id)),
    );
    for (const instance of made)
      expect(await new DaemonClient(instance).output('hostname')).toBe(instance.id);
    await expect(create(first, 'full')).rejects.toMatchObject({ code: 'no_capacity' });
    expect(await instances()).toBe(6);
    for (const instance of made) await instance.destroy();
    expect(await instances()).toBe(0);
    await first.close();
    await second.close();
    first = await open(dataDirs[0]!);
    second = await open(dataDirs[1]!);
  });

  it('hand an instance over: who had it neither ends nor reaps it', async () => {
    const made = await create(first, 'moving');
    await new DaemonClient(made).output('echo kept > note');
    expect(await second.shared!.hasInstance('moving')).toBe(true);
    expect(await second.shared!.hasInstance('nobody')).toBe(false);
    expect(await second.adopt('nobody')).toBeUndefined();
    const taken = (await second.adopt('moving'))!;
    expect(await new DaemonClient(taken).output('cat note')).toBe('kept');
    // The instance that the first one believed it had belongs to another one now.
    await made.destroy();
    expect(await new DaemonClient(taken).output('cat note')).toBe('kept');
    await first.reap({ instanceIds: [], checkpointIds: [] });
    await first.close();
    first = await open(dataDirs[0]!);
    expect(await first.list()).toEqual([]);
    await first.reap({ instanceIds: [], checkpointIds: [] });
    expect(await new DaemonClient(taken).output('cat note')).toBe('kept');
    await first.adopt('moving');
    await second.shared!.release('moving');
    expect(await second.list()).toEqual([]);
    await (await first.adopt('moving'))!.destroy();
    expect(await second.shared!.hasInstance('moving')).toBe(false);
    expect(await instances()).toBe(0);
  });

  it('restore, keep and delete checkpoints of each other', async () => {
    const made = await create(first, 'source');
    await new DaemonClient(made).output('echo stored > note');
    await made.checkpoint({ checkpointId: 'of-first', memory: false, then: 'destroy' });
    expect(await second.shared!.hasCheckpoint('of-first')).toBe(true);
    expect(await second.shared!.hasCheckpoint('of-nobody')).toBe(false);
    await second.reap({ instanceIds: [], checkpointIds: [] });
    const copy = await second.restore({
      id: 'copy',
      checkpointId: 'of-first',
      memory: false,
      spec: spec(),
    });
    expect(await new DaemonClient(copy).output('cat note')).toBe('stored');
    await expect(
      copy.checkpoint({ checkpointId: 'of-first', memory: false, then: 'continue' }),
    ).rejects.toMatchObject({ code: 'busy' });
    await copy.destroy();
    await second.deleteCheckpoint('of-first');
    expect(await first.shared!.hasCheckpoint('of-first')).toBe(false);
    await first.deleteCheckpoint('of-first');
    expect(await instances()).toBe(0);
  });

  it('start from layers of each other, without their archives', async () => {
    const made = await create(first, 'builder');
    await new DaemonClient(made).output('echo layered > /home/user/note');
    const { id } = await made.commitLayer();
    await made.destroy();
    const other = await create(second, 'user', [id]);
    expect(await new DaemonClient(other).output('cat /home/user/note')).toBe('layered');
    await other.destroy();
    expect((await second.layers.list()).map((layer) => layer.id)).not.toContain(id);
    await first.layers.delete(id);
    await expect(create(second, 'late', [id])).rejects.toMatchObject({ code: 'invalid_spec' });
    expect(await instances()).toBe(0);
  });
});

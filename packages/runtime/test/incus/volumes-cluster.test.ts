import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '#support/eventually';
import type { Driver } from '../../src/contract/driver.js';
import { VolumeError } from '../../src/contract/volumes.js';
import { IncusClient } from '../../src/incus/incus-client.js';
import { createIncusDriver } from '../../src/incus-driver/create-incus-driver.js';
import { keys } from '../../src/incus-driver/keys.js';
import { DaemonClient } from '../../src/testing/daemon-client.js';
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

const skip = incusSkipReason();
/** Calls while a program swaps what they go through. */
const TRIES = Number(process.env.SVC_ESCAPE_TRIES ?? 500);

describe.skipIf(skip !== undefined)('volumes on a cluster with two servers', () => {
  let cluster: TestCluster;
  let client: IncusClient;
  const dataDirs: string[] = [];
  let first: Driver;
  let second: Driver;

  const open = (dataDir: string) =>
    createIncusDriver({ dataDir, daemon: envdProgram, address: cluster.address });
  const create = (driver: Driver, id: string, ...volumeIds: string[]) =>
    driver.create({
      id,
      spec: {
        layers: [],
        limits: { memoryMiB: 512 },
        network: { egress: 'internet' },
        mounts: volumeIds.map((volumeId) => ({ volumeId, target: `/mnt/${volumeId}` })),
        labels: {},
      },
    });
  const put = (driver: Driver, id: string, path: string, content: string) =>
    driver.volumes.content(id).write(path, Readable.from([Buffer.from(content)]), { force: true });
  const get = async (driver: Driver, id: string, path: string) =>
    text((await driver.volumes.content(id).read(path)).content);
  interface Listed {
    name: string;
    location: string;
    config: Record<string, string>;
    devices: Record<string, { type: string }>;
  }
  const agents = async () =>
    (await client.call<Listed[]>({ path: '/instances', query: { recursion: '1' } })).filter(
      ({ config }) => config?.[keys.state] === 'volume-agent',
    );
  const stored = async () =>
    (
      await client.call<Listed[]>({
        path: '/storage-pools/svc/volumes/custom',
        query: { recursion: '1' },
      })
    ).map(({ name, location }) => [name, location] as const);

  beforeAll(async () => {
    cluster = await startTestCluster(3);
    client = new IncusClient({ address: cluster.address, project: 'svc' });
    for (const name of ['a', 'b']) dataDirs.push(await mkdtemp(join(tmpdir(), `incus-volumes-${name}-`)));
    first = await open(dataDirs[0]!);
    second = await open(dataDirs[1]!);
  });

  afterAll(async () => {
    await first?.close();
    await second?.close();
    client?.close();
    if (cluster !== undefined) {
      await cluster.stop();
      await eventually('nothing to be left', () => leakedByCluster(cluster.plan).length === 0).catch(
        () => undefined,
      );
      expect(leakedByCluster(cluster.plan)).toEqual([]);
    }
    for (const dataDir of dataDirs) await rm(dataDir, { recursive: true, force: true });
  });

  it('are shared by sandboxes of both, with the same owners, and with what either writes from outside', async () => {
    await first.volumes.make('team', { limitMiB: 64 });
    await put(second, 'team', '/from-outside', 'hello');
    const [one, two] = [await create(first, 'one', 'team'), await create(second, 'two', 'team')];
    const [inOne, inTwo] = [new DaemonClient(one), new DaemonClient(two)];
    expect(await inOne.output('cat /mnt/team/from-outside && echo back > /mnt/team/from-one')).toBe('hello');
    expect(await inTwo.output('cat /mnt/team/from-one && stat -c %u:%g /mnt/team/*')).toBe(
      'back\n1000:1000\n0:0',
    );
    for (const driver of [first, second]) expect(await get(driver, 'team', '/from-one')).toBe('back\n');
    await second.volumes.content('team').change('/from-one', { uid: 0, gid: 0, mode: 0o600 });
    expect((await inOne.run('cat /mnt/team/from-one')).exitCode).not.toBe(0);
  });

  it('hold no more than their limit, which changes while they are mounted', async () => {
    const inside = new DaemonClient((await first.adopt('one'))!);
    const fill = 'dd if=/dev/urandom of=/mnt/team/big bs=1M count=100 conv=fsync';
    expect((await inside.run(fill)).exitCode).not.toBe(0);
    const used = (await second.volumes.usedBytes('team'))!;
    expect(used).toBeGreaterThan(40 * 2 ** 20);
    expect(used).toBeLessThanOrEqual(64 * 2 ** 20);
    await expect(put(second, 'team', '/more', 'x'.repeat(30_000_000))).rejects.toMatchObject({
      code: 'no_space',
    });
    await second.volumes.make('team', { limitMiB: 256 });
    expect((await inside.run(fill)).exitCode).toBe(0);
    await inside.output('rm /mnt/team/big');
  });

  it('cannot be mounted together where they lie on two machines', async () => {
    const ids = ['v1', 'v2', 'v3'];
    for (const id of ids) await first.volumes.make(id);
    const where = new Map(await stored());
    const onOther = ids.find((id) => where.get(`svc-${id}`) !== where.get('svc-team'))!;
    await expect(create(second, 'both', 'team', onOther)).rejects.toMatchObject({ code: 'invalid_spec' });
    for (const id of ids) await second.volumes.delete(id);
    expect(await first.volumes.list()).toEqual(['team']);
  });

  it('are no part of checkpoints, which start anew with them', async () => {
    const source = (await first.adopt('one'))!;
    await new DaemonClient(source).output('echo mine > note && echo kept > /mnt/team/note');
    await source.checkpoint({ checkpointId: 'of-one', memory: false, then: 'destroy' });
    const spec = {
      layers: [],
      limits: { memoryMiB: 512 },
      network: { egress: 'internet' as const },
      mounts: [{ volumeId: 'team', target: '/mnt/team' }],
      labels: {},
    };
    const again = await second.restore({ id: 'again', checkpointId: 'of-one', memory: false, spec });
    expect(await new DaemonClient(again).output('cat note /mnt/team/note')).toBe('mine\nkept');
    const bare = await first.restore({
      id: 'bare',
      checkpointId: 'of-one',
      memory: false,
      spec: { ...spec, mounts: [] },
    });
    expect(await new DaemonClient(bare).output('cat note; ls -A /mnt/team')).toBe('mine');
    for (const each of [again, bare]) await each.destroy();
    await second.deleteCheckpoint('of-one');
  });

  it('are worked on in containers without a network card, which see nothing but the volume', async () => {
    await put(first, 'team', '/x', 'x');
    const own = (await agents()).filter(({ config }) => config[keys.id] === 'team');
    expect(own.length).toBeGreaterThanOrEqual(1);
    for (const { name, devices } of own) {
      expect(Object.values(devices).map(({ type }) => type)).toEqual(['disk', 'disk']);
      const { network } = await client.call<{ network: Record<string, unknown> }>({
        path: `/instances/${name}/state`,
      });
      expect(Object.keys(network)).toEqual(['lo']);
    }
  });

  it('give nothing away for links, pipes, sockets and names, also while a program swaps them', async () => {
    const inside = new DaemonClient((await second.adopt('two'))!);
    const { exitCode, stderr } = await inside.run(
      `cd /mnt/team && mkdir odd deep && cd odd &&
       ln -s /etc/passwd file && ln -s / root && ln -s ../../../../etc/passwd up && ln -s /proc/self/environ env &&
       ln -s /run/svc-volume-agent.mjs program && ln -s loop loop && mkfifo pipe &&
       perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die' &&
       perl -e 'open my $h, ">", "\\xff\\xfe" or die; open $h, ">", "n" x 255 or die; open $h, ">", "a\\nb" or die;' &&
       perl -e 'chdir "../deep" or die; for (1..600) { mkdir "d" or die; chdir "d" or die }'`,
      'root',
    );
    expect([exitCode, stderr]).toEqual([0, '']);
    const content = first.volumes.content('team');
    const codeOf = (path: string) =>
      content.read(path).then(
        () => 'read',
        (error: unknown) => (VolumeError.is(error) ? error.code : String(error)),
      );
    for (const name of ['file', 'up', 'env', 'program', 'root/etc/passwd'])
      expect([name, await codeOf(`/odd/${name}`)]).toEqual([name, 'path_not_found']);
    for (const name of ['loop', 'pipe', 'socket'])
      expect([name, await codeOf(`/odd/${name}`)]).toEqual([name, 'invalid_request']);
    expect(await codeOf(`/deep${'/d'.repeat(590)}/x`)).toBe('invalid_request');
    expect(await codeOf('/odd/root/from-outside')).toBe('read');
    expect((await content.list('/odd', 1)).map(({ name }) => name)).toContain('a\nb');
    await content.remove('/deep');

    const swapping = await inside.start(
      `cd /mnt/team && perl -e '$| = 1; print "racing"; for (;;) { mkdir "d"; open my $h, ">", "t"; print $h "mine"; close $h; rename "t", "d/passwd";
        rename "d", "k"; symlink "/etc", "d"; symlink "/etc/passwd", "s"; rename "s", "k/passwd"; unlink "d"; rename "k", "d"; }'`,
      'root',
    );
    await eventually('the program to race', () => swapping.stdout() === 'racing');
    const given = new Set<string>();
    for (let tries = 0; tries < TRIES; tries += 1) {
      const [read] = await Promise.all([
        get(first, 'team', '/d/passwd').catch((error: unknown) =>
          VolumeError.is(error) ? '' : Promise.reject(error),
        ),
        put(first, 'team', '/d/group', 'changed').catch((error: unknown) =>
          VolumeError.is(error) ? undefined : Promise.reject(error),
        ),
      ]);
      given.add(read);
    }
    expect([...given].filter((each) => each !== '' && each !== 'mine')).toEqual([]);
    swapping.leave();
    await inside.run('pkill perl; rm -rf /mnt/team/odd /mnt/team/d /mnt/team/k', 'root');
  });

  it('that are deleted while mounted are deleted for both servers, and removed when nothing has them', async () => {
    const two = (await second.adopt('two'))!;
    await first.volumes.delete('team');
    expect(await new DaemonClient(two).output('cat /mnt/team/from-outside')).toBe('hello');
    for (const driver of [first, second]) {
      expect(await driver.volumes.list()).toEqual([]);
      expect(await driver.shared!.hasVolume('team')).toBe(false);
    }
    await two.destroy();
    await first.reap({ instanceIds: [], checkpointIds: [] });
    expect(await stored()).toEqual([]);
  });

  it('answer the documented error while their machine is away, and have everything when it is back', async () => {
    let where = new Map<string, string>();
    for (let made = 0; !where.has('m3') || !where.has('m1'); made += 1) {
      // A member that is busy counts as away for a while.
      expect(made).toBeLessThan(20);
      await first.volumes.make(`volume-${made}`);
      where = new Map((await stored()).map(([name, location]) => [location, name.slice(4)]));
    }
    const [lost, kept] = [where.get('m3')!, where.get('m1')!];
    for (const id of [lost, kept]) await put(first, id, '/file', id);
    await killTrialMember(cluster.plan, 'm3');
    await eventually(
      'the machine to count as away',
      () =>
        second.volumes
          .content(lost)
          .stat('/file')
          .then(
            () => false,
            (error: { code?: string }) => error.code === 'unreachable',
          ),
      INCUS_TEST_MS,
    );
    await eventually(
      'an agent on it to be given up',
      () =>
        get(first, lost, '/file').then(
          () => false,
          (error: { code?: string }) => error.code === 'unreachable',
        ),
      INCUS_TEST_MS,
    );
    await expect(create(second, 'late', lost)).rejects.toMatchObject({ code: 'unreachable' });
    expect(await second.shared!.hasVolume(lost)).toBe(true);
    for (const driver of [first, second]) expect(await get(driver, kept, '/file')).toBe(kept);
    await (await create(second, 'fine', kept)).destroy();
    await returnTrialMember(cluster.plan, 'm3');
    await eventually(
      'the volume to be back',
      () =>
        get(second, lost, '/file').then(
          (found) => found === lost,
          () => false,
        ),
      INCUS_TEST_MS,
    );
  });

  it('leave no container when nobody calls for a while, or when their server stops', async () => {
    const of = async (driver: 0 | 1) => {
      const owner = (await agents()).map(({ config }) => config[keys.owner]);
      const own = (await readFile(join(dataDirs[driver]!, 'incus-owner'), 'utf8')).trim();
      return owner.filter((each) => each === own).length;
    };
    const [id] = await first.volumes.list();
    await put(second, id!, '/file', 'x');
    expect(await of(1)).toBeGreaterThan(0);
    await second.close();
    expect(await of(1)).toBe(0);
    await get(first, id!, '/file');
    await eventually('the idle ones to be removed', async () => (await of(0)) === 0, INCUS_TEST_MS);
    expect(await get(first, id!, '/file')).toBe('x');
    for (const each of await first.volumes.list()) await first.volumes.delete(each);
    await first.close();
    expect([await agents(), await stored()]).toEqual([[], []]);
  });
});

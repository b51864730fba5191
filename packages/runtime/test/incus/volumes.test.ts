import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { execute } from '../../src/incus/execute.js';
import { IncusClient } from '../../src/incus/incus-client.js';
import { binaryHeader } from '../../src/incus/web-socket-frames.js';
import { incusCapabilities } from '../../src/incus-driver/capabilities.js';
import { IncusCluster } from '../../src/incus-driver/incus-cluster.js';
import { requireSpec } from '../../src/incus-driver/instance-config.js';
import { imageKeys, keys, volumeIdOf, volumeName } from '../../src/incus-driver/keys.js';
import { type LostOptions, removeOfLost } from '../../src/incus-driver/lost-orphans.js';
import { readVolumePlaces, readVolumes } from '../../src/incus-driver/read-wire.js';
import { callsOfAgent } from '../../src/incus-driver/volumes/agent-calls.js';
import { AGENT_VOLUME, agentBody } from '../../src/incus-driver/volumes/agent-spec.js';
import { chooseMember } from '../../src/incus-driver/volumes/choose-member.js';
import { CustomVolumes } from '../../src/incus-driver/volumes/custom-volumes.js';
import { exactly } from '../../src/incus-driver/volumes/exactly.js';
import { IncusVolumes } from '../../src/incus-driver/volumes/incus-volumes.js';
import { MemberClients } from '../../src/incus-driver/volumes/member-clients.js';
import { mountProblem } from '../../src/incus-driver/volumes/mount-problem.js';
import { placeMounts, withoutMounts } from '../../src/incus-driver/volumes/place-mounts.js';
import type { VolumeAgents } from '../../src/incus-driver/volumes/volume-agents.js';
import type { WireImage, WireInstance, WireMember } from '../../src/incus-driver/wire.js';
import type { RemoteCalls } from '../../src/remote/remote-calls.js';
import { remoteContent } from '../../src/remote/remote-volumes.js';
import { RetryLater } from '../../src/shared/retry-later.js';
import { runProgram } from '../../src/shared/run-program.js';
import { PlainVolumes } from '../../src/volumes/plain-volumes.js';
import { bundleModule } from '../support/bundle-module.js';
import { done, FakeIncus, type FakeRequest, failed, OPERATION } from '../support/fake-incus.js';

const member = (name: string, status = 'Online') => ({ server_name: name, status }) as WireMember;

describe('names of volumes in Incus', () => {
  it('lead back to the volume, and what is none of the service leads nowhere', () => {
    expect(volumeIdOf(volumeName('a-1'))).toBe('a-1');
    for (const name of ['a-1', 'svc-', 'svc-A', 'svc-a/b', `svc-${'a'.repeat(65)}`])
      expect(volumeIdOf(name)).toBeUndefined();
    expect(() => volumeName('../a')).toThrow('volume id');
  });
});

describe('the member of a new volume', () => {
  it('is one that takes something and has the fewest', () => {
    const members = [member('a'), member('b'), member('c', 'Offline'), member('d', 'Evacuated')];
    expect(chooseMember(members, [{ location: 'a' }], 'x')).toBe('b');
    expect(chooseMember([], [], 'x')).toBeUndefined();
    const chosen = Array.from({ length: 40 }, (_, index) => chooseMember(members, [], `volume-${index}`));
    expect(new Set(chosen)).toEqual(new Set(['a', 'b']));
    expect(() => chooseMember([member('c', 'Offline')], [], 'x')).toThrow('No machine');
  });
});

describe('mounts of volumes', () => {
  const locations = new Map([
    ['v1', 'a'],
    ['v2', 'a'],
    ['v3', 'b'],
    ['alone', 'none'],
  ]);
  const place = (...mounts: { volumeId: string; target: string; readOnly?: boolean }[]) =>
    placeMounts(mounts, { pool: 'p', locations });

  it('are devices, and name the member', () => {
    expect(place({ volumeId: 'v1', target: '/x' }, { volumeId: 'v2', target: '/y', readOnly: true })).toEqual(
      {
        location: 'a',
        devices: {
          volume0: { type: 'disk', pool: 'p', source: 'svc-v1', path: '/x' },
          volume1: { type: 'disk', pool: 'p', source: 'svc-v2', path: '/y', readonly: 'true' },
        },
      },
    );
    expect(place({ volumeId: 'alone', target: '/x' }).location).toBeUndefined();
  });

  it('are refused for volumes of two members, and for what is not there', () => {
    expect(() => place({ volumeId: 'v1', target: '/x' }, { volumeId: 'v3', target: '/y' })).toThrow(
      'cannot mount them together',
    );
    expect(() => place({ volumeId: 'v9', target: '/x' })).toThrow('is not there');
  });

  it('are no part of a copy', () => {
    expect(
      withoutMounts({ root: { type: 'disk' }, volume0: { type: 'disk' }, eth0: { type: 'nic' } }),
    ).toEqual({
      volume0: { type: 'none' },
    });
  });

  it('need a path that leads nowhere else, and a volume', () => {
    const spec = (mount: { volumeId?: string; source?: string; target: string }) =>
      ({
        layers: [],
        limits: {},
        network: { egress: 'internet' },
        mounts: [mount],
        labels: {},
      }) as unknown as Parameters<typeof requireSpec>[0];
    const able = { fenced: false, mountProblem: undefined };
    requireSpec(spec({ volumeId: 'v', target: '/x y' }), able);
    for (const target of ['x', '/a/../b', '/a\nlxc.hook.start=/x', '/a\u0000'])
      expect(() => requireSpec(spec({ volumeId: 'v', target }), able)).toThrow('absolute paths');
    expect(() => requireSpec(spec({ source: '/etc', target: '/x' }), able)).toThrow('cannot be mounted');
    expect(() =>
      requireSpec(spec({ volumeId: 'v', target: '/x' }), { ...able, mountProblem: 'shared' }),
    ).toThrow('cannot be mounted');
  });

  it('are claimed for pools that each member has its own part of alone', () => {
    const extensions = ['storage_shifted', 'storage_initial_owner'];
    for (const driver of ['btrfs', 'zfs', 'lvm', 'dir'])
      expect(mountProblem({ pool: 'p', driver, extensions })).toBeUndefined();
    for (const driver of ['ceph', 'cephfs', 'lvmcluster', 'linstor', 'new'])
      expect(mountProblem({ pool: 'p', driver, extensions })).toContain('never tried');
    expect(mountProblem({ pool: 'p', driver: 'btrfs', extensions: [] })).toContain('too old');
    expect(incusCapabilities({ diskLimit: true, fenced: false, mountProblem: undefined }).mounts).toBe(true);
    const refusing = incusCapabilities({ diskLimit: true, fenced: false, mountProblem: 'Why.' });
    expect([refusing.mounts, refusing.reasons.includes('Why.')]).toEqual([false, true]);
  });
});

describe('the agent of a volume', () => {
  it('has the volume and no network card', () => {
    const body = agentBody({
      name: 'v1',
      volumeId: 'a',
      pool: 'p',
      owner: 'o',
      unique: 'u',
      fingerprint: 'f',
    });
    expect(body.devices).toEqual({
      root: { type: 'disk', path: '/', pool: 'p' },
      volume: { type: 'disk', pool: 'p', source: 'svc-a', path: AGENT_VOLUME },
    });
    expect(body.config).toMatchObject({ 'security.privileged': 'false', [keys.owner]: 'o' });
  });
});

describe('what was announced of a file', () => {
  it.each([
    ['as it is', 'abc', 3, 'abc'],
    ['cut where there is more', 'abcdef', 3, 'abc'],
  ])('is given %s', async (_, sent, sizeBytes, given) => {
    expect(await text(exactly(Readable.from([Buffer.from(sent)]), sizeBytes))).toBe(given);
  });

  it('fails where there is less, and where its source does', async () => {
    await expect(buffer(exactly(Readable.from([Buffer.from('ab')]), 3))).rejects.toThrow('broke off');
    const broken = new Readable({ read: () => broken.destroy(new Error('torn')) });
    await expect(buffer(exactly(broken, 3))).rejects.toThrow('torn');
  });
});

describe('volumes of the cluster', () => {
  let directory: string;
  let incus: FakeIncus;
  let volumes: IncusVolumes;
  let cleanUp: RetryLater;
  let stored: { name: string; location: string; config: Record<string, string>; created_at: string }[];
  let inUse: Set<string>;
  let members: { server_name: string; status: string }[];
  let answerVolumes: ((request: FakeRequest) => ReturnType<typeof done> | undefined) | undefined;
  const failures: string[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'incus-volumes-'));
    [stored, inUse] = [[], new Set()];
    members = [member('a'), member('b')];
    answerVolumes = undefined;
    failures.length = 0;
    incus = await FakeIncus.start((request) => answerVolumes?.(request) ?? play(request));
    const access = { address: incus.socketPath, project: 'svc' };
    const client = new IncusClient(access);
    cleanUp = new RetryLater({ onFailure: (name, error) => failures.push(`${name}: ${error}`) });
    volumes = new IncusVolumes({
      cluster: new IncusCluster(client),
      custom: new CustomVolumes({ client, members: new MemberClients(access), pool: 'p' }),
      owner: 'me',
      pool: 'p',
      limited: true,
      plain: new PlainVolumes(join(directory, 'plain'), cleanUp),
      agents: { end: async () => {} } as unknown as VolumeAgents,
      cleanUp,
      log: () => undefined,
    });
  });

  afterEach(async () => {
    cleanUp.close();
    await incus[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const path = '/1.0/storage-pools/p/volumes/custom';
  function play({ method, path: asked, query, body }: FakeRequest) {
    if (asked === '/1.0/cluster/members') return done(members);
    const described = (volume: (typeof stored)[number]) => ({
      ...volume,
      type: 'custom',
      content_type: 'filesystem',
    });
    if (asked === path && method === 'GET' && query.get('recursion') === '1')
      return done(stored.map(described));
    if (asked === path && method === 'GET')
      return done(stored.map(({ name, location }) => `${path}/${name}?project=svc&target=${location}`));
    const given = body.length === 0 ? {} : JSON.parse(body.toString('utf8'));
    const location = query.get('target')!;
    if (asked === path) {
      stored.push({ ...given, location, created_at: `2026-01-01T00:00:0${stored.length}Z` });
      return done({});
    }
    const found = stored.find(({ name, location: at }) => asked === `${path}/${name}` && at === location);
    if (found === undefined) return failed(404, 'Storage volume not found');
    if (method === 'GET') return done(described(found));
    if (method === 'PATCH') Object.assign(found.config, given.config);
    else if (inUse.has(found.name)) return failed(400, 'The storage volume is still in use');
    else stored = stored.filter((volume) => volume !== found);
    return done({});
  }

  it("of a server that is lost become this one's, but for those that it had still to delete", async () => {
    const of = (name: string, owner: string, state: string) => ({
      name: `svc-${name}`,
      location: 'a',
      config: { [keys.owner]: owner, [keys.state]: state },
      created_at: `2026-01-01T00:00:0${stored.length}Z`,
    });
    const all = [
      of('used', 'lost', 'live'),
      of('unknown', 'lost', 'live'),
      of('deleted', 'lost', 'deleted'),
      of('mounted', 'lost', 'live'),
      of('of-another', 'other', 'deleted'),
    ];
    stored = structuredClone(all);
    inUse.add('svc-mounted');
    const usedVolumes = async () => new Set(['used']);
    expect(await volumes.takeOver({ holder: 'lost', isLost: async () => false, usedVolumes })).toEqual([]);
    expect(stored).toEqual(all);
    const removed = await volumes.takeOver({ holder: 'lost', isLost: async () => true, usedVolumes });
    expect(removed).toEqual(['volume unknown', 'volume deleted']);
    expect(stored.map(({ name, config }) => [name, config[keys.owner], config[keys.state]])).toEqual([
      ['svc-used', 'me', 'live'],
      ['svc-mounted', 'me', 'deleted'],
      ['svc-of-another', 'other', 'deleted'],
    ]);
    inUse.clear();
    await cleanUp.retry();
    expect(stored.map(({ name }) => name)).toEqual(['svc-used', 'svc-of-another']);
  });

  it('are made once, for everybody inside, and get their limit', async () => {
    await volumes.make('v', { limitMiB: 100 });
    expect(stored).toMatchObject([
      {
        name: 'svc-v',
        config: { size: '100MiB', 'security.shifted': 'true', 'initial.mode': '0777', [keys.owner]: 'me' },
      },
    ]);
    await volumes.make('v', { limitMiB: 100 });
    await volumes.make('v', { limitMiB: 40 });
    expect(stored).toMatchObject([{ config: { size: '40MiB' } }]);
    expect(incus.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(2);
    expect(await volumes.has('v')).toBe(true);
    expect(await volumes.has('w')).toBe(false);
  });

  it('of other servers are not listed, and are worked on all the same', async () => {
    await volumes.make('mine');
    await volumes.make('theirs');
    stored.find(({ name }) => name === 'svc-theirs')!.config[keys.owner] = 'they';
    stored.push({ name: 'backups', location: 'a', config: {}, created_at: '' });
    expect(await volumes.list()).toEqual(['mine']);
    expect(await volumes.has('theirs')).toBe(true);
    await volumes.delete('theirs');
    expect(stored.map(({ name }) => name).sort()).toEqual(['backups', 'svc-mine']);
  });

  it('that two servers make at the same moment are the oldest one, wherever it is', async () => {
    answerVolumes = (request) => {
      if (request.method !== 'POST' || request.path !== path) return undefined;
      const given = JSON.parse(request.body.toString('utf8'));
      const other = { ...given, config: { ...given.config, [keys.owner]: 'they' } };
      const at = request.query.get('target')!;
      stored.push(
        { ...other, location: at === 'a' ? 'b' : 'a', created_at: '2026-01-01T00:00:00Z' },
        { ...given, location: at, created_at: '2026-01-01T00:00:01Z' },
      );
      return done({});
    };
    await volumes.make('v');
    expect(stored).toMatchObject([{ name: 'svc-v', config: { [keys.owner]: 'they' } }]);
    // While both are there still.
    const [first] = stored;
    const other = { ...first!, location: first!.location === 'a' ? 'b' : 'a', created_at: '2026-01-02' };
    stored.unshift(other);
    const mounted = await volumes.place([{ volumeId: 'v', target: '/x' }]);
    expect(mounted.location).toBe(first!.location);
  });

  it('that something has mounted are deleted for everybody at once, and removed later', async () => {
    await volumes.make('v');
    inUse.add('svc-v');
    await volumes.delete('v');
    expect(failures).toEqual([expect.stringContaining('still in use')]);
    expect([await volumes.list(), await volumes.has('v')]).toEqual([[], false]);
    expect(stored).toHaveLength(1);
    inUse.clear();
    await volumes.reap();
    expect(stored).toEqual([]);
  });

  it('cannot be mounted while their member is away', async () => {
    await volumes.make('v');
    const mount = { volumeId: 'v', target: '/x' };
    expect((await volumes.place([mount])).location).toBe(stored[0]!.location);
    members = members.map(({ server_name: name }) => member(name, 'Offline'));
    await expect(volumes.place([mount])).rejects.toMatchObject({ code: 'unreachable' });
    await expect(volumes.make('w')).rejects.toMatchObject({ code: 'no_capacity' });
  });

  it('are found without a look at all others, which takes Incus a look through all instances for each', async () => {
    await volumes.make('v');
    await volumes.place([{ volumeId: 'v', target: '/x' }]);
    await volumes.usedBytes('v');
    expect(await volumes.has('v')).toBe(true);
    await volumes.delete('v');
    expect(
      incus.requests.filter(({ path: asked, query }) => asked === path && query.has('recursion')),
    ).toEqual([]);
  });

  it('are known while their member is away', async () => {
    await volumes.make('v');
    answerVolumes = ({ method, path: asked }) =>
      method === 'GET' && asked === `${path}/svc-v` ? failed(503, 'Failed to connect') : undefined;
    expect(await volumes.has('v')).toBe(true);
    stored[0]!.config[keys.state] = 'deleted';
    expect(await volumes.has('v')).toBe(false);
  });

  it('of an earlier version stay with the server that has them, and say why nothing mounts them', async () => {
    await mkdir(join(directory, 'plain', 'old'), { recursive: true });
    await writeFile(join(directory, 'plain', 'old', 'a.txt'), 'kept');
    await volumes.make('old');
    const { content } = await volumes.content('old').read('/a.txt');
    expect(await text(content)).toBe('kept');
    expect([await volumes.list(), await volumes.has('old'), stored]).toEqual([['old'], false, []]);
    await expect(volumes.place([{ volumeId: 'old', target: '/x' }])).rejects.toThrow('copy its files');
    await volumes.delete('old');
    expect(await volumes.list()).toEqual([]);
  });

  it.each([7, 'x', {}, [7], [[]], null])(
    'of a cluster that says %j of them are none, or fail',
    async (said) => {
      answerVolumes = (request) => (request.path === path ? done(said) : undefined);
      const listed = await volumes.list().catch((error: unknown) => error);
      if (Array.isArray(listed)) expect(listed).toEqual([]);
      else expect(listed).toMatchObject({ code: 'unreachable' });
    },
  );

  it('are where their paths say', () => {
    const at = '/1.0/storage-pools/p/volumes/custom';
    expect(readVolumePlaces([`${at}/svc-a?project=svc&target=m1`, `${at}/svc-b`, `${at}/other`, 7])).toEqual([
      { name: 'svc-a', location: 'm1' },
      { name: 'svc-b', location: 'none' },
    ]);
  });

  it('with names of others are not believed', () => {
    const wire = { type: 'custom', content_type: 'filesystem', config: 7, location: 7 };
    expect(
      readVolumes([
        { ...wire, name: '../x' },
        { ...wire, name: 'svc-a', type: 'image' },
      ]),
    ).toEqual([]);
    expect(readVolumes([{ ...wire, name: 'svc-a' }])).toEqual([
      { name: 'svc-a', location: 'none', config: {}, createdAt: '' },
    ]);
  });
});

describe('what a lost server left', () => {
  const instance = (name: string, state: string) =>
    ({
      name,
      config: { [keys.owner]: 'lost', [keys.state]: state, [keys.unique]: `of-${name}` },
    }) as unknown as WireInstance;
  const all = [
    instance('s1', 'pooled'),
    instance('s2', 'live'),
    instance('c1', 'checkpoint'),
    instance('v1', 'volume-agent'),
    instance('s3', 'pooled'),
  ];

  const image = (fingerprint: string, owner: string, properties: Record<string, string>) => ({
    fingerprint,
    size: 1,
    properties: { [imageKeys.owner]: owner, ...properties },
  });
  const attempt = (_name: string, task: () => Promise<unknown>) => task().then(() => true);

  async function clear(options: {
    isLost?: () => Promise<boolean>;
    away?: string;
    images?: WireImage[];
    volumes?: LostOptions['volumes'];
  }) {
    const asked: Record<string, unknown> = {};
    const failures: string[] = [];
    const deleted: string[] = [];
    const taken: string[] = [];
    const removed = await removeOfLost({
      volumes: options.volumes,
      images: {
        list: async () => (options.images ?? []).filter((image) => !deleted.includes(image.fingerprint)),
        delete: async (fingerprint) => void deleted.push(fingerprint),
        take: async ({ fingerprint }) => void taken.push(fingerprint),
      },
      cleanUp: { attempt },
      cluster: {
        listOf: async (owner) => (owner === 'lost' ? all : []),
        remove: async (name, config) => {
          if (name === options.away) throw new Error('away');
          asked[name] = config;
        },
      },
      lost: {
        holder: 'lost',
        isLost: options.isLost ?? (async () => true),
        usedLayers: async () => new Set(['used']),
        usedVolumes: async () => new Set(['used']),
      },
      onFailure: (name) => failures.push(name),
    });
    return { removed, asked, failures, taken };
  }

  it('is removed where nobody was given it, and only as it was listed', async () => {
    const { removed, asked } = await clear({});
    expect(removed).toEqual(['s1', 'v1', 's3']);
    expect(asked.s1).toEqual({ [keys.owner]: 'lost', [keys.state]: 'pooled', [keys.unique]: 'of-s1' });
  });

  it('stays from the moment on at which the server is back', async () => {
    let asked = 0;
    const isLost = async () => {
      asked += 1;
      return asked < 2;
    };
    expect((await clear({ isLost })).removed).toEqual(['s1']);
  });

  it('goes with its images of layers that nothing uses, and after its agents the volumes that it had to delete', async () => {
    const { removed, taken } = await clear({
      images: [
        image('base', 'lost', { [imageKeys.stack]: 's', [imageKeys.layers]: '' }),
        image('used', 'lost', { [imageKeys.layer]: 'used' }),
        image('unused', 'lost', { [imageKeys.layer]: 'unused' }),
        image('above', 'lost', { [imageKeys.stack]: 't', [imageKeys.layers]: 'used,unused' }),
        image('of-another', 'other', { [imageKeys.layer]: 'unused' }),
      ],
      volumes: { takeOver: async ({ holder }) => [`volume of ${holder}`] },
    });
    expect(removed.slice(3)).toEqual(['volume of lost', 'image unused', 'image above']);
    expect(taken).toEqual(['base', 'used']);
    let asked = 0;
    const kept = await clear({
      images: [image('unused', 'lost', { [imageKeys.layer]: 'unused' })],
      isLost: async () => {
        asked += 1;
        return asked <= 3;
      },
    });
    expect([kept.removed, kept.taken]).toEqual([['s1', 'v1', 's3'], []]);
  });

  it('on a machine that is away holds up nothing else', async () => {
    const { removed, failures } = await clear({ away: 's1' });
    expect([removed, failures]).toEqual([['v1', 's3'], ['s1']]);
  });
});

describe('a program that Incus runs inside', () => {
  let directory: string;
  let server: Server;
  let client: IncusClient;
  let sockets: Map<string, Socket>;
  let opened: Socket[];
  let fds: unknown;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'incus-exec-'));
    sockets = new Map();
    opened = [];
    fds = { 0: '0'.repeat(64), 1: '1'.repeat(64), 2: '2'.repeat(64), control: 'c'.repeat(64) };
    server = createServer((_request, response) => {
      const operation = `${OPERATION}?project=svc`;
      response.writeHead(202);
      response.end(JSON.stringify({ type: 'async', operation, metadata: { metadata: { fds } } }));
    });
    server.on('upgrade', (request, socket: Socket) => {
      socket.on('error', () => undefined);
      const secret = new URL(request.url!, 'http://incus').searchParams.get('secret')!;
      sockets.set(secret[0]!, socket);
      opened.push(socket);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    });
    const socketPath = join(directory, 'unix.socket');
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    client = new IncusClient({ address: socketPath });
  });

  afterEach(async () => {
    client.close();
    server.closeAllConnections();
    for (const socket of opened) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true, force: true });
  });

  const run = () => execute({ client, instance: 'x', command: ['y'] });
  /** As a server sends it, unmasked. */
  const frame = (payload: string | Buffer, first = 0x82) => {
    const header = binaryHeader(payload.length);
    header[0] = first;
    header[1] = header[1]! & 0x7f;
    return Buffer.concat([header.subarray(0, header.length - 4), Buffer.from(payload)]);
  };

  it('reads what is written, and is read to its end', async () => {
    const stream = await run();
    const input = sockets.get('0')!;
    stream.write(Buffer.alloc(70_000, 'x'));
    let read = Buffer.alloc(0);
    input.on('data', (chunk: Buffer) => {
      read = Buffer.concat([read, chunk]);
    });
    await eventually('all of it came', () => read.length === 70_014);
    expect(read.subarray(0, 14)).toEqual(binaryHeader(70_000));
    const output = sockets.get('1')!;
    output.write(Buffer.concat([frame('par', 0x02), frame('ts ', 0x80), frame('and more')]));
    output.write(frame('', 0x88));
    expect(await text(stream)).toBe('parts and more');
    sockets.get('2')!.write(frame('why'));
  });

  it('ends when the way to it does, and when it sends what nobody can read', async () => {
    for (const broken of ['1', 'c']) {
      const stream = await run();
      const closed = new Promise((resolve) => stream.once('close', resolve));
      stream.resume();
      sockets.get(broken)!.destroy();
      await closed;
    }
    const stream = await run();
    const failing = new Promise((resolve) => stream.once('error', resolve));
    sockets.get('1')!.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]));
    expect(await failing).toMatchObject({ message: expect.stringContaining('mask') });
    for (const socket of opened) socket.resume();
    await eventually('nothing is left open', () =>
      opened.every(({ destroyed, readableEnded }) => destroyed || readableEnded),
    );
  });

  it.each([undefined, 7, {}, { 0: 7 }, { 0: '../../x' }, { 0: '0'.repeat(64) }])(
    'is not believed where its connections are %j',
    async (said) => {
      fds = said;
      await expect(run()).rejects.toThrow('no connection to the program');
    },
  );
});

describe('the program of the agent', () => {
  let directory: string;
  let bundle: { directory: string; file: string };
  let child: ReturnType<typeof spawn>;
  let calls: RemoteCalls;
  const content = () => remoteContent(calls, 'v');

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'incus-agent-'));
    await mkdir(join(directory, 'volume'));
    bundle = await bundleModule('src/incus-driver/volumes/agent-program.ts', 'agent.mjs');
    child = spawn(process.execPath, [bundle.file, join(directory, 'volume')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin!.on('error', () => undefined);
    const stream = Duplex.from({ readable: child.stdout!, writable: child.stdin! });
    stream.on('error', () => undefined);
    calls = callsOfAgent(stream);
  });

  afterEach(async () => {
    calls.end();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await ended;
    }
    for (const each of [directory, bundle.directory]) await rm(each, { recursive: true, force: true });
  });

  it('writes, lists, reads and removes, and ends with the connection', async () => {
    const big = Buffer.alloc(3_000_000, 'x');
    await content().write('/a/b', Readable.from([big]), { force: true });
    expect((await content().list('/', 2)).map(({ path }) => path)).toEqual(['/a', '/a/b']);
    const { sizeBytes, content: read } = await content().read('/a/b');
    expect([sizeBytes, (await buffer(read)).equals(big)]).toEqual([3_000_000, true]);
    await content().remove('/a');
    expect(await content().list('/', 2)).toEqual([]);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    calls.end();
    await ended;
  });

  it('continues after large uploads that it refuses unread', async () => {
    const upload = () => content().write('/here', Readable.from([Buffer.alloc(6_000_000)]), {});
    await upload();
    for (let tries = 0; tries < 6; tries += 1)
      await expect(upload()).rejects.toMatchObject({ code: 'path_already_exists' });
    expect(await content().stat('/here')).toMatchObject({ size: 6_000_000 });
  });

  it('leaves nothing that a link, a pipe or a name makes of an operation', async () => {
    const volume = join(directory, 'volume');
    await writeFile(join(directory, 'secret'), 'SECRET');
    await symlink('../secret', join(volume, 'up'));
    await symlink(join(directory, 'secret'), join(volume, 'absolute'));
    await symlink('.', join(volume, 'circle'));
    await symlink('me', join(volume, 'me'));
    await runProgram('mkfifo', [join(volume, 'pipe')]);
    for (const path of ['/up', '/absolute', '/circle/../../secret'])
      await expect(content().read(path)).rejects.toMatchObject({ code: 'path_not_found' });
    await expect(content().read('/me')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(content().read('/pipe')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(content().read(`/${'x'.repeat(300)}`)).rejects.toMatchObject({ code: 'invalid_request' });
    await content().remove('/circle');
    await content()
      .write('/absolute', Readable.from([Buffer.from('x')]), { force: true })
      .catch(() => undefined);
    expect(await readFile(join(directory, 'secret'), 'utf8')).toBe('SECRET');
  });
});

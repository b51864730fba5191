import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { toJson } from '../../src/storage/json.js';
import { failEnds } from '../support/fail-ends.js';
import { type FakeNode, startFakeNode } from '../support/fake-node.js';
import { createMemoryDriver, holdRestores, type MemoryDriver } from '../support/memory-driver.js';
import { operate } from '../support/operate.js';
import { run } from '../support/sandboxes.js';
import { secondTeam } from '../support/second-team.js';
import type { ApiAnswer, TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';

const machine = { arch: 'x64', kernel: '6.1.0', cpuFeatures: ['sse2'] };
/** Places for sandboxes on each of three servers. */
const PLACES = [2, 2, 2];

interface Entry {
  sandbox?: { sandboxID: string; envdAccessToken: string };
  error?: { code: number; error_code?: string };
}

describe.skipIf(dialect === 'sqlite')('forks of a sandbox', () => {
  let directory: string;
  let shared: SharedServers;
  let drivers: MemoryDriver[];
  let first: TestServer;
  let second: TestServer;
  let fakes = 0;
  const imports: number[] = [0, 0, 0];
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'svc-forks-'));
    drivers = await Promise.all(
      PLACES.map((_, index) => createMemoryDriver(path.join(directory, String(index)), { machine })),
    );
    for (const [index, { transfers }] of drivers.entries()) {
      const take = transfers!.import;
      transfers!.import = async (...args) => {
        imports[index]! += 1;
        await take(...args);
      };
    }
    shared = await startSharedServers(3, (index) => ({
      driver: drivers[index]!,
      maxSandboxes: PLACES[index]!,
    }));
    [first, second] = shared.servers as [TestServer, TestServer];
    await eventually('all have reported their machines', async () =>
      (await first.server.context.fleet.places()).every(({ place }) => place.report?.machine !== undefined),
    );
  });
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
    for (const driver of drivers ?? []) await driver.close({ destroyInstances: true });
    await rm(directory, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const driver of drivers) driver.beforeRestore = () => Promise.resolve();
    for (const { id } of await rows()) await ask(first, 'DELETE', `/sandboxes/${id}`);
  });

  const db = () => first.server.context.db;
  const idOf = ({ server }: TestServer) => server.context.config.nodeId;
  const ask = (server: TestServer, method: string, target: string, body?: unknown, headers = {}) =>
    shared.ask(server, method, target, body, headers);
  const rows = () => db().selectFrom('sandboxes').select(['id', 'node_id', 'state', 'team_id']).execute();
  const createOn = async (server: TestServer, headers = {}) => {
    const { fleet } = server.server.context;
    fleet.places = () => Promise.resolve([]);
    const made = await ask(server, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 600 }, headers);
    Reflect.deleteProperty(fleet, 'places');
    expect(made).toMatchObject({ status: 201 });
    return { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
  };
  /** Waits until the others have told that they are empty: what they told earlier would decide where forks go. */
  const settled = () =>
    eventually('what is known of the others is true', async () =>
      (await first.server.context.fleet.places()).every(
        ({ place }) => place.here || (place.report?.running === 0 && place.sent === 0),
      ),
    );
  const fork = async (id: string, count: number, server = first, headers = {}): Promise<Entry[]> => {
    const answer = await ask(server, 'POST', `/sandboxes/${id}/fork`, { count, timeout: 600 }, headers);
    expect(answer).toMatchObject({ status: 201 });
    expect(answer.body).toHaveLength(count);
    return answer.body;
  };
  const madeOf = (entries: Entry[]) => entries.flatMap(({ sandbox }) => sandbox ?? []);
  const errorsOf = (entries: Entry[]) =>
    entries.flatMap(({ error }) =>
      error === undefined ? [] : `${error.code} ${error.error_code ?? ''}`.trim(),
    );
  /** The number of sandboxes of each server. */
  const counts = async () => {
    const nodeIds = (await rows()).map(({ node_id: nodeId }) => nodeId);
    return shared.servers.map((server) => nodeIds.filter((nodeId) => nodeId === idOf(server)).length);
  };
  const nothingStored = async () => {
    expect(drivers.map(({ stored }) => [...stored])).toEqual([[], [], []]);
    expect(await db().selectFrom('checkpoints').select('id').execute()).toEqual([]);
    expect(await db().selectFrom('object_copies').select('object_id').execute()).toEqual([]);
  };
  /** That all that runs was told of. */
  const onlyThese = (ids: string[]) =>
    eventually('no other fork is left', async () => {
      const left = (await rows()).map(({ id }) => id);
      return left.length === ids.length && ids.every((id) => left.includes(id));
    });
  /** A server that new sandboxes would go to first, and that does what the test says. */
  const fakeNode = async (
    onRequest: (response: ServerResponse, url: URL) => void,
    its = machine,
  ): Promise<FakeNode> => {
    // One that did not answer is not asked again for a while.
    fakes += 1;
    const id = `fake-${fakes}`;
    const fake: FakeNode = await startFakeNode(db(), id, (response) =>
      onRequest(response, new URL(fake.requests.at(-1)!.url, 'http://fake')),
    );
    const report = {
      ...{ version: '0', driver: 'linux', running: 0, maxSandboxes: 100, pooled: 0, cpuCount: 64, load: 0 },
      ...{ memoryFreeMiB: 999_000, memoryTotalMiB: 1_000_000, diskFreeMiB: 1_000_000, machine: its },
    };
    await db()
      .updateTable('nodes')
      .set({ report: toJson(report) })
      .where('id', '=', id)
      .execute();
    await eventually('it is known', async () =>
      (await first.server.context.fleet.places()).some(
        ({ place }) => place.nodeId === id && place.report?.machine !== undefined,
      ),
    );
    return fake;
  };
  const idsOf = (url: URL) => url.searchParams.get('ids')!.split('.');

  it('start on other servers where their own has no place, each from one copy, which goes again', async () => {
    const source = await createOn(first);
    await run(first, source, 'echo kept > note.txt');
    await settled();
    imports.fill(0);
    const made = madeOf(await fork(source.id, 5));
    expect(made).toHaveLength(5);
    expect(await counts()).toEqual([2, 2, 2]);
    expect(imports).toEqual([0, 1, 1]);
    for (const { sandboxID: id, envdAccessToken: token } of made) {
      expect((await ask(second, 'GET', `/sandboxes/${id}`)).body).toMatchObject({
        state: 'running',
        forkedFrom: source.id,
      });
      expect(await run(second, { id, token }, 'cat note.txt')).toBe('kept\n');
    }
    await nothingStored();
  });

  it('fail one by one with 503 once all servers are full', async () => {
    const source = await createOn(first);
    const entries = await fork(source.id, 9);
    expect(madeOf(entries)).toHaveLength(5);
    expect(errorsOf(entries)).toEqual(Array(4).fill('503 sandbox_capacity_unavailable'));
    expect(await counts()).toEqual(PLACES);
    await nothingStored();
  });

  it('start all on other servers when their own is drained', async () => {
    const source = await createOn(first);
    const set = async (how: 'drain' | 'undrain') => {
      const body = how === 'drain' ? { sandboxes: 'keep' } : undefined;
      expect((await operate(second.server, 'POST', `/nodes/${idOf(first)}/${how}`, body)).status).toBe(200);
      await eventually(
        'it follows',
        () => first.server.context.nodes.drain === (how === 'drain' ? 'keep' : 'no'),
      );
    };
    await set('drain');
    const made = madeOf(await fork(source.id, 2, second));
    await set('undrain');
    expect(made).toHaveLength(2);
    expect((await counts())[0]).toBe(1);
    await nothingStored();
  });

  it('are never more than the team may have, whichever servers start them', async () => {
    const team = await secondTeam(first, 'narrow', { maxConcurrentSandboxes: 5 });
    const sources = [await createOn(first, team.headers), await createOn(second, team.headers)];
    const answers = await Promise.all([
      fork(sources[0]!.id, 4, first, team.headers),
      fork(sources[1]!.id, 4, second, team.headers),
    ]);
    expect(madeOf(answers.flat())).toHaveLength(3);
    for (const error of errorsOf(answers.flat()))
      expect(['429', '503 sandbox_capacity_unavailable']).toContain(error);
    expect((await rows()).filter(({ team_id: teamId }) => teamId === team.id)).toHaveLength(5);
    imports.fill(0);
    expect(errorsOf(await fork(sources[0]!.id, 4, first, team.headers))).toEqual(Array(4).fill('429'));
    // Nothing was copied for those that may not run.
    expect(imports).toEqual([0, 0, 0]);
    for (const { id } of await rows())
      await ask(first, 'DELETE', `/sandboxes/${id}`, undefined, team.headers);
    await nothingStored();
  });

  it('are made for the team of their source alone, and asked for by no client', async () => {
    const source = await createOn(first);
    const { headers } = await secondTeam(first, 'strange');
    const refused = await ask(first, 'POST', `/sandboxes/${source.id}/fork`, { count: 4 }, headers);
    expect(refused.status).toBe(404);
    const id = `fork-${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`;
    const ids = `i${'a'.repeat(20)}`;
    for (const target of [
      `/node/forks/${id}?ids=${ids}&timeoutSeconds=60&logsFrom=0&withinMs=60000`,
      `/node/forks/end?ids=${source.id}`,
    ])
      expect((await ask(second, 'POST', target)).status).toBe(404);
    await onlyThese([source.id]);
  });

  it('go to no server that cannot resume their memory', async () => {
    await using fake = await fakeNode((response) => response.destroy(), { ...machine, cpuFeatures: [] });
    const source = await createOn(first);
    expect(errorsOf(await fork(source.id, 2))).toEqual([]);
    expect(fake.requests).toEqual([]);
  });

  const lies: [string, (ids: string[]) => string][] = [
    ['makes none of those that it names', (ids) => JSON.stringify(ids.map((sandboxID) => ({ sandboxID })))],
    ['says no JSON', () => '<html>'],
    ['says more than there is to say', () => `[${'{},'.repeat(200_000)}{}]`],
  ];
  it.each(lies)('start on another node when a server %s', async (_, lie) => {
    await using fake = await fakeNode((response, url) => {
      response.writeProcessing();
      if (url.pathname === '/node/forks/end') return void response.writeHead(204).end();
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(lie(idsOf(url)));
    });
    const source = await createOn(first);
    const entries = await fork(source.id, 2);
    expect(errorsOf(entries)).toEqual([]);
    const made = madeOf(entries);
    expect(fake.requests.length).toBeGreaterThan(0);
    await onlyThese([source.id, ...made.map(({ sandboxID }) => sandboxID)]);
    await nothingStored();
  });

  it('say what a server says of those that it did not start, in the words of an error', async () => {
    const told = [
      { code: 500, message: 'no luck', error_code: 'sandbox_create_failed' },
      { code: 200, message: 'no error', error_code: '<b>' },
    ];
    await using fake = await fakeNode((response, url) => {
      const entries = idsOf(url).map((_, index) => ({ error: told[index % 2] }));
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(entries));
    });
    const source = await createOn(first);
    const entries = await fork(source.id, 3);
    expect(errorsOf(entries)).toEqual(['500 sandbox_create_failed', '500']);
    expect(fake.requests).toHaveLength(1);
    await onlyThese([source.id, ...madeOf(entries).map(({ sandboxID }) => sandboxID)]);
  });

  it.each([
    ['is mute', () => {}],
    [
      'dies at work',
      (response: ServerResponse) => {
        response.writeProcessing();
        response.socket!.end();
      },
    ],
    [
      'dies while it answers',
      (response: ServerResponse) => {
        response.writeProcessing();
        response.writeHead(200).write('[', () => response.destroy());
      },
    ],
    ['is full', (response: ServerResponse) => response.writeHead(503).end('{"code":503,"message":"full"}')],
  ])('start on another node when a server %s', async (_, onRequest) => {
    await using fake = await fakeNode(onRequest);
    const source = await createOn(first);
    const entries = await fork(source.id, 2);
    expect(errorsOf(entries)).toEqual([]);
    const made = madeOf(entries);
    expect(fake.requests.length).toBeGreaterThan(0);
    await onlyThese([source.id, ...made.map(({ sandboxID }) => sandboxID)]);
    await nothingStored();
  });

  it('end when the answer of the server that has started them is lost', async () => {
    const source = await createOn(first);
    await settled();
    const { forwarder } = first.server.context.copies;
    const open = forwarder.open.bind(forwarder);
    const lost: ApiAnswer['status'][] = [];
    forwarder.open = async (node, request) => {
      const answer = await open(node, request);
      if (!request.url.startsWith('/node/forks/fork-')) return answer;
      answer.resume();
      lost.push(answer.statusCode ?? 0);
      throw new Error('the connection broke');
    };
    const entries = await fork(source.id, 3);
    Reflect.deleteProperty(forwarder, 'open');
    expect(lost).toEqual([200, 200]);
    expect(errorsOf(entries)).toEqual(Array(2).fill('503 sandbox_capacity_unavailable'));
    await onlyThese([source.id, ...madeOf(entries).map(({ sandboxID }) => sandboxID)]);
    expect(await counts()).toEqual([2, 0, 0]);
    for (const driver of drivers.slice(1)) expect(await driver.list()).toEqual([]);
    await nothingStored();
  });

  it('end when the client left before its answer, also when that fails at first', async () => {
    const source = await createOn(first);
    await settled();
    const { forwarder } = first.server.context.copies;
    const open = forwarder.open.bind(forwarder);
    const failures = shared.servers.slice(1).map((server) => failEnds(server, 1));
    // As of a server that is killed: it does not read the answer, and ends nothing afterwards.
    const killed: string[] = [];
    forwarder.open = async (node, request) => {
      if (request.url.startsWith('/node/forks/end')) throw new Error('it is unreachable');
      if (!request.url.startsWith('/node/forks/fork-')) return open(node, request);
      killed.push(...idsOf(new URL(request.url, 'http://node')));
      const ids = idsOf(new URL(request.url, 'http://node'));
      const connection = new AbortController();
      void eventually('they run', async () =>
        (await rows()).some(({ id, state }) => ids.includes(id) && state === 'running'),
      ).then(() => connection.abort());
      return open(node, { ...request, signal: connection.signal });
    };
    for (const driver of drivers.slice(1)) holdRestores(driver, { after: 1 });
    const made = madeOf(await fork(source.id, 5));
    expect(made).toHaveLength(1);
    expect(killed).toHaveLength(4);
    await onlyThese([source.id, made[0]!.sandboxID]);
    expect(failures.map(({ left }) => left)).toEqual([0, 0]);
    Reflect.deleteProperty(forwarder, 'open');
    await eventually('nothing is left to do', () => first.server.context.retries.size === 0);
  });

  it('never appear once their request is over, though the server that starts them has not noticed', async () => {
    const source = await createOn(first);
    await settled();
    let resumeMoved = () => {};
    const held = new Promise<void>((resolve) => {
      resumeMoved = resolve;
    });
    let waiting = 0;
    for (const driver of drivers.slice(1))
      driver.beforeRestore = () => {
        waiting += 1;
        return held;
      };
    const { forwarder } = first.server.context.copies;
    const open = forwarder.open.bind(forwarder);
    const answers: Promise<unknown>[] = [];
    const asked: string[] = [];
    // As from a machine that is cut off: nobody tells the other one.
    forwarder.open = async (node, request) => {
      if (!request.url.startsWith('/node/forks/fork-')) return open(node, request);
      asked.push(...idsOf(new URL(request.url, 'http://node')));
      answers.push(open(node, { ...request, signal: new AbortController().signal }));
      await eventually('another server starts some', () => waiting > 0);
      throw new Error('cut off');
    };
    const made = madeOf(await fork(source.id, 3));
    Reflect.deleteProperty(forwarder, 'open');
    expect(made).toHaveLength(1);
    expect((await rows()).filter(({ state }) => state === 'creating')).not.toEqual([]);
    resumeMoved();
    await onlyThese([source.id, made[0]!.sandboxID]);
    await Promise.allSettled(answers);
    const created = await db()
      .selectFrom('events')
      .select('id')
      .where('type', '=', 'sandbox.lifecycle.created')
      .where('sandbox_id', 'in', asked)
      .execute();
    expect(created).toEqual([]);
    await nothingStored();
  });

  it('end when the client leaves while another server starts them', async () => {
    const source = await createOn(first);
    await settled();
    const waiting = drivers.slice(1).map((driver) => holdRestores(driver, { after: 0 }));
    const client = new AbortController();
    const pending = fetch(`${first.server.apiUrl}/sandboxes/${source.id}/fork`, {
      method: 'POST',
      headers: { 'X-API-Key': first.server.apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ count: 3, timeout: 600 }),
      signal: client.signal,
    });
    await eventually('others start them', () => waiting.reduce((sum, began) => sum + began(), 0) === 2);
    client.abort();
    await expect(pending).rejects.toThrow();
    await eventually('none is left on another server', async () => {
      const [, ...others] = await counts();
      return others.every((count) => count === 0);
    });
    await eventually('the stored objects are deleted', () =>
      drivers.every(({ stored }) => stored.size === 0),
    );
    await eventually(
      'no copy is on record',
      async () => (await db().selectFrom('object_copies').select('object_id').execute()).length === 0,
    );
  });
});

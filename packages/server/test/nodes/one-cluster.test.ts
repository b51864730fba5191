import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Driver, LostDriver } from '@svc/runtime/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { clearLost } from '../../src/cluster/fleet/clear-lost.js';
import { takeOverLost } from '../../src/cluster/fleet/take-over.js';
import type { ServerOptions } from '../../src/index.js';
import { type PlayedCluster, playCluster } from '../support/cluster-driver.js';
import { operate } from '../support/operate.js';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { dialect, dropSchema, testStorage } from '../support/server-storage.js';

/** Which server is alive, the tests say: a busy machine must not make one silent. */
describe.skipIf(dialect === 'sqlite')('two servers on one PostgreSQL and one cluster', () => {
  let cluster: PlayedCluster;
  let directory: string;
  let first: TestServer;
  let second: TestServer;
  let schema: string | undefined;
  let shared: Partial<ServerOptions>;
  beforeAll(async () => {
    const stored = await testStorage();
    schema = stored.schema;
    directory = await mkdtemp(path.join(tmpdir(), 'svc-cluster-'));
    cluster = await playCluster(directory);
    shared = {
      storage: stored.storage,
      serverKey: randomBytes(32).toString('hex'),
      validateResponses: false,
    };
    first = await startTestServer({ ...shared, driver: cluster.open('first') });
    second = await startTestServer({ ...shared, driver: cluster.open('second') });
    await eventually('both reported', async () => {
      const nodes = (await operate(second.server, 'GET', '/nodes')).body as { report: unknown }[];
      return nodes.length === 2 && nodes.every(({ report }) => report !== null);
    });
    for (const server of [first, second]) {
      server.server.context.nodes.announce = async () => ({ wasSilent: false });
      await setHeartbeat(server, Number.MAX_SAFE_INTEGER);
    }
  });
  afterAll(async () => {
    await second?.[Symbol.asyncDispose]();
    await first?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await dropSchema(schema);
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  const idOf = ({ server }: TestServer) => server.context.config.nodeId;
  const ask = (server: TestServer, method: string, target: string, body?: unknown) =>
    server.api(method, target, body, { 'X-API-Key': first.server.apiKey });
  /** On one server, also when the other one is emptier. */
  const create = async (server: TestServer, body: object = {}) => {
    server.server.context.fleet.places = () => Promise.resolve([]);
    const made = await ask(server, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 600, ...body });
    expect(made).toMatchObject({ status: 201 });
    return { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
  };
  const rowOf = (id: string) =>
    second.server.context.db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirst();
  const killed = async (id: string) =>
    (
      await second.server.context.db
        .selectFrom('events')
        .select('data')
        .where('sandbox_id', '=', id)
        .where('type', '=', 'sandbox.lifecycle.killed')
        .execute()
    ).map(({ data }) => (JSON.parse(data as string) as { kill_reason: string }).kill_reason);
  const setHeartbeat = (server: TestServer, heartbeatAtMs: number) =>
    second.server.context.db
      .updateTable('nodes')
      .set({ heartbeat_at: heartbeatAtMs })
      .where('id', '=', idOf(server))
      .execute();
  /** Cuts the first server off from the others, while it believes that all is well. */
  const cutOff = async () => {
    await setHeartbeat(first, 1);
    second.advance(2_000);
    return {
      comeBack: async () => {
        await setHeartbeat(first, Number.MAX_SAFE_INTEGER);
        const { nodes } = first.server.context;
        const { announce } = nodes;
        nodes.announce = async () => {
          nodes.announce = announce;
          return { wasSilent: true };
        };
      },
    };
  };

  const makeVolume = async (name: string) => {
    const made = await ask(first, 'POST', '/volumes', { name });
    expect(made.status).toBe(201);
    return { id: made.body.volumeID as string, token: made.body.token as string };
  };
  const content = (
    { server }: TestServer,
    { id, token }: { id: string; token: string },
    path: string,
    init: RequestInit = {},
  ) =>
    fetch(`${server.apiUrl}/volumecontent/${id}/${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${token}` },
    });

  it('leave to each other what a living one has', async () => {
    const sandbox = await create(first);
    expect(await takeOverLost(second.server.context)).toBe(0);
    expect(await second.server.context.takeOvers.take(sandbox.id)).toBe(false);
    expect(await run(second, sandbox, 'echo passed on')).toBe('passed on\n');
    expect((await rowOf(sandbox.id))?.node_id).toBe(idOf(first));
    expect((await ask(second, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
  });

  it('serve the sandboxes of a silent one, which releases them when it comes back', async () => {
    const sandbox = await create(first);
    await run(first, sandbox, 'echo kept > note.txt');
    const { comeBack } = await cutOff();
    const answers = await Promise.all(['a', 'b', 'c'].map((word) => run(second, sandbox, `echo ${word}`)));
    expect(answers).toEqual(['a\n', 'b\n', 'c\n']);
    expect(await run(second, sandbox, 'cat note.txt')).toBe('kept\n');
    expect((await rowOf(sandbox.id))?.node_id).toBe(idOf(second));
    // The first one's actions before it knows change nothing.
    const live = first.server.context.sandboxes.get(sandbox.id)!;
    await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`);
    expect(await run(second, sandbox, 'cat note.txt')).toBe('kept\n');
    await comeBack();
    await eventually('it releases it', () => first.server.context.sandboxes.get(sandbox.id) === undefined);
    expect(live.deleted).toBe(true);
    expect(await run(first, sandbox, 'cat note.txt')).toBe('kept\n');
    expect(await killed(sandbox.id)).toEqual([]);
    expect((await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    expect(await killed(sandbox.id)).toEqual(['request']);
    expect(await cluster.owners()).toEqual({});
  });

  it('end what a silent one had when its time is over, and pause what is to be paused', async () => {
    const short = await create(first, { timeout: 30 });
    const kept = await create(first, { timeout: 30, autoPause: true, autoPauseMemory: false });
    await run(first, kept, 'echo kept > note.txt');
    const { comeBack } = await cutOff();
    await eventually('both are taken over', async () => {
      await takeOverLost(second.server.context);
      const rows = [await rowOf(short.id), await rowOf(kept.id)];
      return rows.every((row) => row?.node_id === idOf(second));
    });
    second.advance(60_000);
    await eventually('both are over', async () => {
      await second.server.expireDue();
      return (await rowOf(short.id)) === undefined && (await rowOf(kept.id))?.state === 'paused';
    });
    expect(await killed(short.id)).toEqual(['timeout']);
    await comeBack();
    await eventually('it releases it', () => first.server.context.sandboxes.size === 0);
    const woken = await ask(first, 'POST', `/v2/sandboxes/${kept.id}/connect`, { timeout: 600 });
    expect(woken.status).toBe(201);
    expect(await run(first, kept, 'cat note.txt')).toBe('kept\n');
    expect((await ask(first, 'DELETE', `/sandboxes/${kept.id}`)).status).toBe(204);
    expect(await cluster.owners()).toEqual({});
  });

  it('start from snapshots of each other, also of one that is silent', async () => {
    const source = await create(first);
    await run(first, source, 'echo stored > note.txt');
    const snapshot = await ask(first, 'POST', `/sandboxes/${source.id}/snapshots`, {
      name: 'of-first',
      memory: false,
    });
    expect(snapshot.status).toBe(201);
    const { comeBack } = await cutOff();
    second.server.context.fleet.places = Object.getPrototypeOf(second.server.context.fleet).places;
    const made = await ask(second, 'POST', '/v2/sandboxes', { templateID: 'of-first', timeout: 600 });
    expect(made.status).toBe(201);
    const copy = { id: made.body.sandboxID, token: made.body.envdAccessToken };
    expect((await rowOf(copy.id))?.node_id).toBe(idOf(second));
    expect(await run(second, copy, 'cat note.txt')).toBe('stored\n');
    await comeBack();
    for (const { id } of [source, copy])
      expect((await ask(second, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('leave it where it is while the cluster does not answer', async () => {
    const sandbox = await create(first);
    const { comeBack } = await cutOff();
    cluster.reachable = false;
    expect(await ask(second, 'GET', `/sandboxes/${sandbox.id}`)).toMatchObject({ status: 503 });
    expect((await rowOf(sandbox.id))?.node_id).toBe(idOf(first));
    cluster.reachable = true;
    expect(await ask(second, 'GET', `/sandboxes/${sandbox.id}`)).toMatchObject({ status: 200 });
    await comeBack();
    expect((await ask(second, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
  });

  it('work on volumes of each other, also of one that is silent', async () => {
    const volume = await makeVolume('of-first');
    expect(await content(first, volume, 'file?path=/a.txt', { method: 'PUT', body: 'kept' })).toMatchObject({
      status: 201,
    });
    const { comeBack } = await cutOff();
    expect(await (await content(second, volume, 'file?path=/a.txt')).text()).toBe('kept');
    cluster.reachable = false;
    expect((await content(second, volume, 'file?path=/a.txt')).status).toBe(503);
    cluster.reachable = true;
    expect((await ask(second, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
    expect(await second.server.context.driver.volumes.list()).toEqual([]);
    await comeBack();
  });

  it('remove what one that is silent for long had given to nobody', async () => {
    const { context } = second.server;
    // The server looks by itself too.
    const cleared = async () => {
      const holders: string[] = [];
      const removeOrphans = async ({ holder, isLost }: LostDriver) => {
        if (await isLost()) holders.push(holder);
        return [];
      };
      const { clusterId, holder } = context.driver.shared!;
      await clearLost({
        ...context,
        driver: { shared: { clusterId, holder, removeOrphans } } as unknown as Driver,
      });
      return holders;
    };
    expect(await cleared()).toEqual([]);
    const { comeBack } = await cutOff();
    expect(await cleared()).toEqual(['first']);
    // It left by itself: its next start removes what it has to.
    await setHeartbeat(first, 0);
    expect(await cleared()).toEqual([]);
    await comeBack();
  });

  it('take over what one had that stopped; it neither ends nor reaps it when it starts again', async () => {
    const running = await create(first);
    await run(first, running, 'echo kept > note.txt');
    const gone = await create(first);
    await first.server.stop({ destroySandboxes: false });
    second.advance(2_000);
    expect(await run(second, running, 'cat note.txt')).toBe('kept\n');
    expect((await ask(second, 'DELETE', `/sandboxes/${gone.id}`)).status).toBe(204);
    await first.restart();
    expect(first.server.context.sandboxes.size).toBe(0);
    expect(await cluster.owners()).toEqual({ [running.id]: 'second' });
    expect(await run(first, running, 'cat note.txt')).toBe('kept\n');
    expect((await ask(first, 'DELETE', `/sandboxes/${running.id}`)).status).toBe(204);
    expect(await cluster.owners()).toEqual({});
  });

  it('keep volumes and snapshots of one that is forgotten', async () => {
    const volume = await makeVolume('stays');
    await content(first, volume, 'file?path=/a.txt', { method: 'PUT', body: 'kept' });
    const source = await create(first);
    await run(first, source, 'echo stored > note.txt');
    const snapshot = await ask(first, 'POST', `/sandboxes/${source.id}/snapshots`, {
      name: 'stays',
      memory: false,
    });
    expect(snapshot.status).toBe(201);
    expect((await ask(first, 'DELETE', `/sandboxes/${source.id}`)).status).toBe(204);
    // It was started anew, and would say again that it is there.
    await first.server.stop({ destroySandboxes: false });
    second.advance(2_000);
    cluster.cleared.length = 0;
    const forgotten = await operate(second.server, 'POST', `/nodes/${idOf(first)}/forget`);
    expect(forgotten).toMatchObject({ status: 200, body: { builds: 0, volumes: 0 } });
    await eventually('its orphans are removed', () => cluster.cleared.includes('first by second'));
    expect(await (await content(second, volume, 'file?path=/a.txt')).text()).toBe('kept');
    expect((await ask(second, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
    const { checkpoint_id: checkpointId } = await second.server.context.db
      .selectFrom('template_builds')
      .select('checkpoint_id')
      .where('checkpoint_id', 'is not', null)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow();
    // Its new start takes the stored state for its own, though another made it.
    await second.restart();
    const made = await create(second, { templateID: snapshot.body.snapshotID });
    expect(await run(second, made, 'cat note.txt')).toBe('stored\n');
    expect((await ask(second, 'DELETE', `/sandboxes/${made.id}`)).status).toBe(204);
    expect(
      (await ask(second, 'DELETE', `/templates/${encodeURIComponent(snapshot.body.snapshotID)}`)).status,
    ).toBe(204);
    await eventually(
      'the stored state is gone',
      async () => !(await second.server.context.driver.shared!.hasCheckpoint(checkpointId!)),
    );
  });

  it('keep volumes of one that a server forgets which is on no cluster', async () => {
    await first.restart();
    await eventually('it reported', async () => {
      const nodes = (await operate(second.server, 'GET', '/nodes')).body as {
        nodeID: string;
        report: unknown;
      }[];
      return nodes.some(({ nodeID, report }) => nodeID === idOf(first) && report !== null);
    });
    first.server.context.nodes.announce = async () => ({ wasSilent: false });
    const volume = await makeVolume('stays-elsewhere');
    await content(first, volume, 'file?path=/a.txt', { method: 'PUT', body: 'kept' });
    await first.server.stop({ destroySandboxes: false });
    await using other = await startTestServer({ ...shared, driver: 'process' });
    const forgotten = await operate(other.server, 'POST', `/nodes/${idOf(first)}/forget`);
    expect(forgotten).toMatchObject({ status: 200, body: { volumes: 0 } });
    const row = await second.server.context.db
      .selectFrom('volumes')
      .select('node_id')
      .where('id', '=', volume.id)
      .executeTakeFirst();
    expect(row?.node_id).toBe(idOf(second));
    for (const server of [second, other])
      expect(await (await content(server, volume, 'file?path=/a.txt')).text()).toBe('kept');
    expect((await ask(other, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
  });
});

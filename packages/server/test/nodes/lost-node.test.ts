import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { expireLost } from '../../src/cluster/fleet/lost-sandboxes.js';
import { operate } from '../support/operate.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';

describe.skipIf(dialect === 'sqlite')('a node', () => {
  let first: TestServer;
  let second: TestServer;
  let shared: SharedServers;
  beforeAll(async () => {
    shared = await startSharedServers(2, () => ({ teamLimits: { maxConcurrentSandboxes: 3 } }));
    [first, second] = shared.servers as [TestServer, TestServer];
  });
  afterAll(async () => shared?.[Symbol.asyncDispose]());

  const nodeId = () => first.server.context.config.nodeId;
  const ask = (server: TestServer, method: string, path: string, body?: unknown) =>
    shared.ask(server, method, path, body);
  const create = async (body?: object) => (await shared.createOn(first, body)).id;
  const instances = async () => (await first.server.context.driver.list()).map(({ id }) => id);
  const ended = (id: string) =>
    second.server.context.db
      .selectFrom('events')
      .select('data')
      .where('sandbox_id', '=', id)
      .where('type', '=', 'sandbox.lifecycle.killed')
      .execute();
  const nodeOf = async (id = nodeId()) =>
    (await operate(second.server, 'GET', '/nodes')).body.find(
      (node: { nodeID: string }) => node.nodeID === id,
    );

  it('is listed with its last report', async () => {
    await eventually('both are there', async () => (await nodeOf())?.report !== null);
    expect(await nodeOf()).toMatchObject({
      state: 'alive',
      drain: 'no',
      apiUrl: first.server.apiUrl,
      sandboxes: { running: 0, paused: 0 },
      report: { driver: 'process', maxSandboxes: 1000, pooled: 0 },
    });
    const status = () => fetch(`${second.server.operatorUrl}/status`).then((answer) => answer.json());
    expect(await status()).toMatchObject({ nodes: { alive: 2, drained: 0, silent: 0, stopped: 0 } });
    expect(await status()).not.toHaveProperty('newerSchema');
    const metrics = await (await fetch(`${second.server.operatorUrl}/metrics`)).text();
    expect(metrics).toContain('svc_nodes{state="alive"} 2\n');
    const step = { name: '999-later', timestamp: '' };
    await sql`insert into kysely_migration (name, timestamp) values (${step.name}, ${step.timestamp})`.execute(
      second.server.context.db,
    );
    expect(await status()).toMatchObject({ state: 'running', newerSchema: ['999-later'] });
    await sql`delete from kysely_migration where name = ${step.name}`.execute(second.server.context.db);
    for (const path of [`/nodes/${nodeId()}`, `/nodes/${nodeId()}/forget`])
      expect(await operate(second.server, path.endsWith('forget') ? 'POST' : 'DELETE', path)).toMatchObject({
        status: 409,
        body: { message: expect.stringContaining('lives') },
      });
    for (const [method, path, body] of [
      ['DELETE', '/nodes/none', undefined],
      ['POST', '/nodes/none/forget', undefined],
      ['POST', '/nodes/none/drain', { sandboxes: 'keep' }],
      ['POST', '/nodes/none/undrain', undefined],
    ] as const)
      expect((await operate(second.server, method, path, body)).status).toBe(404);
  });

  it('is drained: what runs is paused when that is asked for, and can be woken again', async () => {
    const id = await create();
    const drained = await operate(second.server, 'POST', `/nodes/${nodeId()}/drain`, { sandboxes: 'pause' });
    expect(drained).toMatchObject({ status: 200, body: { drain: 'pause' } });
    await eventually('it is empty', async () => (await nodeOf()).sandboxes.running === 0);
    expect((await nodeOf()).sandboxes.paused).toBe(1);
    expect((await operate(second.server, 'POST', `/nodes/${nodeId()}/undrain`)).body.drain).toBe('no');
    await eventually('it follows', () => first.server.context.nodes.drain === 'no');
    expect((await ask(second, 'POST', `/v2/sandboxes/${id}/connect`, {})).status).toBe(201);
    expect((await ask(second, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('that is lost: its sandboxes can be killed and do not count then, and end when it comes back', async () => {
    const killed = await create();
    const kept = await create();
    const expired = await create({ timeout: 30 });
    await first.server.stop({ destroySandboxes: false });
    expect(await nodeOf()).toMatchObject({
      state: 'stopped',
      lastSeenSeconds: null,
      sandboxes: { running: 3 },
    });
    expect(await ask(second, 'GET', `/sandboxes/${killed}`)).toMatchObject({
      status: 503,
      body: { code: 503 },
    });
    const here = () => ask(second, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 60 });
    expect((await here()).status).toBe(429);
    // For a second at most the other server believes that it still lives.
    await eventually(
      'it is known to have ended',
      async () => (await ask(second, 'DELETE', `/sandboxes/${killed}`)).status === 204,
    );
    expect((await ask(second, 'DELETE', `/sandboxes/${killed}`)).status).toBe(404);
    expect(await ended(killed)).toEqual([{ data: expect.stringContaining('"kill_reason":"request"') }]);
    const made = await here();
    expect(made.status).toBe(201);
    expect((await ask(second, 'DELETE', `/sandboxes/${made.body.sandboxID}`)).status).toBe(204);
    second.advance(60_000);
    await eventually('its time is over', async () => {
      await expireLost(second.server.context);
      return (await ended(expired)).length > 0;
    });
    expect(await ended(expired)).toEqual([{ data: expect.stringContaining('"kill_reason":"timeout"') }]);
    await first.restart();
    expect(await instances()).toEqual([kept]);
    expect((await ask(second, 'DELETE', `/sandboxes/${kept}`)).status).toBe(204);
  });

  it('that was only cut off ends by itself what others killed meanwhile', async () => {
    const id = await create();
    const { context } = first.server;
    const announce = context.nodes.announce.bind(context.nodes);
    context.nodes.announce = async () => ({ wasSilent: false });
    const age = (ms: number) =>
      second.server.context.db
        .updateTable('nodes')
        .set((build) => ({ heartbeat_at: build('heartbeat_at', '-', ms) }))
        .where('id', '=', nodeId())
        .execute();
    await age(3_600_000);
    second.advance(2_000);
    await eventually('it is taken for dead', async () => {
      const answer = await ask(second, 'DELETE', `/sandboxes/${id}`);
      expect([204, 503]).toContain(answer.status);
      return answer.status === 204;
    });
    expect(await instances()).toEqual([id]);
    // As if the last heartbeat that got through were long ago.
    context.nodes.announce = async (...given) => ({ ...(await announce(...given)), wasSilent: true });
    await eventually('it ends it', async () => (await instances()).length === 0);
    context.nodes.announce = announce;
    expect((await ended(id)).length).toBe(1);
  });

  it('that is given up takes its sandboxes and snapshots along, and begins anew when it comes back', async () => {
    const id = await create();
    const snapshot = await ask(first, 'POST', `/sandboxes/${id}/snapshots`, { name: 'lost', memory: false });
    expect(snapshot.status).toBe(201);
    expect((await ask(first, 'POST', '/volumes', { name: 'lost' })).status).toBe(201);
    await first.server.stop({ destroySandboxes: false });
    expect(await operate(second.server, 'DELETE', `/nodes/${nodeId()}`)).toMatchObject({
      status: 409,
      body: {
        message: expect.stringMatching(/1 sandboxes, 1 snapshots or builds of templates and 1 volumes/),
      },
    });
    expect(await operate(second.server, 'POST', `/nodes/${nodeId()}/forget`)).toMatchObject({
      status: 200,
      body: { sandboxes: 1, builds: 1, volumes: 1 },
    });
    expect(await ended(id)).toEqual([{ data: expect.stringContaining('"kill_reason":"orphaned"') }]);
    second.advance(2_000);
    expect((await ask(second, 'GET', `/sandboxes/${id}`)).status).toBe(404);
    expect((await ask(second, 'POST', '/v2/sandboxes', { templateID: 'lost' })).status).toBe(404);
    expect(await nodeOf()).toBeUndefined();
    await first.restart();
    expect(await instances()).toEqual([]);
    expect(await first.server.context.driver.listCheckpoints()).toEqual([]);
    expect((await nodeOf()).state).toBe('alive');
  });

  it('whose name another process took serves and writes nothing any more', async () => {
    const id = await create();
    const { db } = second.server.context;
    await db
      .updateTable('nodes')
      .set((build) => ({ epoch: build('epoch', '+', 1) }))
      .where('id', '=', nodeId())
      .execute();
    await eventually('it sees that', () => first.server.context.nodes.taken);
    expect(await ask(first, 'DELETE', `/sandboxes/${id}`)).toMatchObject({ status: 503 });
    first.advance(3_600_000);
    await first.server.expireDue();
    expect(await db.selectFrom('sandboxes').select('state').where('id', '=', id).execute()).toEqual([
      { state: 'running' },
    ]);
    const status = await (await fetch(`${first.server.operatorUrl}/status`)).json();
    expect(status).toMatchObject({ state: 'draining', reason: expect.stringContaining('name of this node') });
    await db
      .updateTable('nodes')
      .set((build) => ({ epoch: build('epoch', '-', 1) }))
      .where('id', '=', nodeId())
      .execute();
    await first.restart();
    expect((await ask(first, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('that has stopped and is empty is removed', async () => {
    expect((await ask(first, 'GET', '/v2/sandboxes')).body).toEqual([]);
    await first.server.stop({ destroySandboxes: true });
    expect((await operate(second.server, 'DELETE', `/nodes/${nodeId()}`)).status).toBe(204);
    expect(await nodeOf()).toBeUndefined();
    await first.restart();
    expect((await nodeOf()).state).toBe('alive');
  });
});

it.skipIf(dialect === 'postgres')('a server with a database of its own is the only node', async () => {
  await using test = await startTestServer();
  const { nodeId } = test.server.context.config;
  expect((await operate(test.server, 'GET', '/nodes')).body).toMatchObject([
    { nodeID: nodeId, state: 'alive' },
  ]);
  for (const [method, path, body] of [
    ['POST', 'drain', { sandboxes: 'keep' }],
    ['POST', 'undrain', undefined],
    ['POST', 'forget', undefined],
    ['DELETE', '', undefined],
  ] as const)
    expect(await operate(test.server, method, `/nodes/${nodeId}${path && `/${path}`}`, body)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('database of its own') },
    });
});

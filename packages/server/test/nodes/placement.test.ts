import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { startFakeNode } from '../support/fake-node.js';
import { operate } from '../support/operate.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';

describe.skipIf(dialect === 'sqlite')('new sandboxes on three servers', () => {
  let servers: TestServer[];
  let shared: SharedServers;
  beforeAll(async () => {
    shared = await startSharedServers(3, () => ({ maxSandboxes: 2 }));
    servers = shared.servers;
  });
  afterAll(async () => shared?.[Symbol.asyncDispose]());

  const ask = (
    index: number,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => shared.ask(servers[index]!, method, path, body, headers);
  const create = (index: number, headers: Record<string, string> = {}) =>
    ask(index, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 600 }, headers);
  const counts = () => servers.map((server) => [...server.server.context.sandboxes.values()].length);
  const nodeId = (index: number) => servers[index]!.server.context.config.nodeId;
  const clear = async () => {
    for (const { sandboxID } of (await ask(0, 'GET', '/v2/sandboxes')).body)
      expect((await ask(0, 'DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204);
    expect(counts()).toEqual([0, 0, 0]);
  };

  it('spread over all, though one server is asked, until all are full', async () => {
    const made: number[] = [];
    for (let count = 0; count < 6; count += 1) made.push((await create(0)).status);
    expect(made).toEqual(Array(6).fill(201));
    expect(counts()).toEqual([2, 2, 2]);
    for (const index of [0, 1, 2])
      expect(await create(index)).toMatchObject({
        status: 503,
        body: {
          error_code: 'sandbox_capacity_unavailable',
          message: expect.stringContaining('this server runs 2'),
        },
      });
    const [{ sandboxID }] = (await ask(1, 'GET', '/v2/sandboxes')).body;
    expect((await ask(2, 'DELETE', `/sandboxes/${sandboxID}`)).status).toBe(204);
    expect((await create(2)).status).toBe(201);
    expect(counts()).toEqual([2, 2, 2]);
    await clear();
  });

  it('many at once all find their place', async () => {
    const made = await Promise.all(Array.from({ length: 6 }, (_, index) => create(index % 3)));
    expect(made.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect(counts()).toEqual([2, 2, 2]);
    await clear();
  });

  it('go to others while a server is drained, also those that it is asked for', async () => {
    expect(
      (await operate(servers[0]!.server, 'POST', `/nodes/${nodeId(0)}/drain`, { sandboxes: 'keep' })).status,
    ).toBe(200);
    await eventually('all know of it', async () => {
      for (const { server } of servers)
        if (
          !(await server.context.fleet.places()).some(
            ({ place }) => place.nodeId === nodeId(0) && place.drained,
          )
        )
          return false;
      return servers[0]!.server.context.nodes.drain === 'keep';
    });
    for (let count = 0; count < 4; count += 1) expect((await create(0)).status).toBe(201);
    expect(counts()).toEqual([0, 2, 2]);
    expect(await create(0)).toMatchObject({
      status: 503,
      body: { error_code: 'sandbox_capacity_unavailable' },
    });
    await operate(servers[1]!.server, 'POST', `/nodes/${nodeId(0)}/undrain`);
    await eventually('it is used again', async () => (await create(1)).status === 201);
    expect(counts()).toEqual([1, 2, 2]);
    await clear();
  });

  it('do not wait for a server that is frozen, nor do requests for its sandboxes', async () => {
    const { db, fleet } = servers[0]!.server.context;
    await using mute = await startFakeNode(db, 'mute');
    await eventually('it is known', async () =>
      (await fleet.places()).some(({ place }) => place.nodeId === 'mute'),
    );
    const made = await create(0);
    expect(made.status).toBe(201);
    expect(mute.requests.map(({ url }) => url)).toEqual(['/v2/sandboxes']);
    // The next ones do not even try.
    expect((await create(0)).status).toBe(201);
    expect(mute.requests).toHaveLength(1);
    const { sandboxID } = made.body;
    const [owner] = await db.selectFrom('sandboxes').select('node_id').where('id', '=', sandboxID).execute();
    const move = (to: string) =>
      db.updateTable('sandboxes').set({ node_id: to }).where('id', '=', sandboxID).execute();
    await move('mute');
    const asker = servers.findIndex((_, index) => nodeId(index) !== owner!.node_id);
    expect(await ask(asker, 'GET', `/sandboxes/${sandboxID}`)).toMatchObject({
      status: 503,
      body: { code: 503 },
    });
    const inside = await fetch(`${servers[asker]!.server.sandboxUrl}/health`, {
      headers: { 'Svc-Sandbox-Id': sandboxID, 'Svc-Sandbox-Port': '49983' },
    });
    expect([inside.status, inside.headers.get('retry-after')]).toEqual([503, '5']);
    await move(owner!.node_id);
    await clear();
  });

  it('with an idempotency key are made once, whichever server is asked and whichever makes them', async () => {
    const { db } = servers[0]!.server.context;
    await using fake = await startFakeNode(db, 'slow', (response) => response.writeProcessing());
    for (const { server } of servers)
      await eventually('it is known', async () =>
        (await server.context.fleet.places()).some(({ place }) => place.nodeId === 'slow'),
      );
    const key = { 'Idempotency-Key': 'once' };
    const first = create(0, key);
    await eventually('it is under way', () => fake.requests.length === 1);
    expect(fake.requests[0]!.headers['idempotency-key']).toBeUndefined();
    for (const index of [0, 1, 2])
      expect(await create(index, key)).toMatchObject({
        status: 409,
        body: { error_code: 'idempotency_in_progress' },
      });
    const body = { sandboxID: 'made', templateID: 'base' };
    fake.requests[0]!.response.writeHead(201, { 'Content-Type': 'application/json' }).end(
      JSON.stringify(body),
    );
    expect(await first).toMatchObject({ status: 201, body });
    for (const index of [0, 1, 2]) {
      const again = await create(index, key);
      expect(again).toMatchObject({ status: 201, body });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
    expect(fake.requests).toHaveLength(1);
    // One that began on a server that is gone: nobody knows how it ended.
    await db
      .updateTable('idempotency')
      .set({ response: null, owner: 'slow 99' })
      .where('key', '=', 'once')
      .execute();
    expect(await create(1, key)).toMatchObject({ status: 422 });
  });

  it('try the next server when one stops, and say so when one breaks off in the middle', async () => {
    const { db } = servers[0]!.server.context;
    const known = async (id: string) =>
      eventually('it is known', async () =>
        (await servers[0]!.server.context.fleet.places()).some(({ place }) => place.nodeId === id),
      );
    {
      await using stops = await startFakeNode(db, 'stops', (response) =>
        response.writeHead(503, { 'Content-Type': 'application/json' }).end('{"code":503,"message":"stops"}'),
      );
      await known('stops');
      expect((await create(0)).status).toBe(201);
      expect(stops.requests).toHaveLength(1);
    }
    await using breaks = await startFakeNode(db, 'breaks', (response) => {
      response.writeProcessing();
      setImmediate(() => response.destroy());
    });
    await known('breaks');
    expect(await create(0)).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('node') },
    });
    expect(breaks.requests).toHaveLength(1);
    await clear();
  });
});

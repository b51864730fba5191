import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';

describe.skipIf(dialect === 'sqlite')('volumes of two servers', () => {
  let first: TestServer;
  let second: TestServer;
  let shared: SharedServers;
  beforeAll(async () => {
    shared = await startSharedServers(2);
    [first, second] = shared.servers as [TestServer, TestServer];
  });
  afterAll(async () => shared?.[Symbol.asyncDispose]());

  const ask = (server: TestServer, method: string, path: string, body?: unknown) =>
    shared.ask(server, method, path, body);
  const make = async (server: TestServer, name: string) => {
    const made = await ask(server, 'POST', '/volumes', { name });
    expect(made.status).toBe(201);
    return { id: made.body.volumeID as string, token: made.body.token as string };
  };
  const content = (
    server: TestServer,
    { id, token }: { id: string; token: string },
    path: string,
    init: RequestInit = {},
  ) =>
    fetch(`${server.server.apiUrl}/volumecontent/${id}/${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${token}`, ...init.headers },
    });
  const list = (server: TestServer) => server.server.context.driver.volumes.list();

  it('have the same content whichever server is asked, and leave nothing when the wrong one deletes them', async () => {
    const volume = await make(first, 'shared');
    const big = 'x'.repeat(3_000_000);
    const written = await content(second, volume, 'file?path=/big.txt', { method: 'PUT', body: big });
    expect([written.status, (await written.json()) as object]).toMatchObject([201, { size: 3_000_000 }]);
    for (const server of [first, second])
      expect(await (await content(server, volume, 'file?path=/big.txt')).text()).toBe(big);
    expect((await content(second, volume, 'dir?path=/made', { method: 'POST' })).status).toBe(201);
    const entries = (await (await content(second, volume, 'dir?path=/')).json()) as { name: string }[];
    expect(entries.map(({ name }) => name).sort()).toEqual(['big.txt', 'made']);
    expect((await content(second, volume, 'file?path=/none')).status).toBe(404);
    expect((await content(second, { ...volume, token: 'wrong' }, 'file?path=/big.txt')).status).toBe(401);
    expect([await list(first), await list(second)]).toEqual([[volume.id], []]);
    expect((await ask(second, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
    expect((await ask(second, 'DELETE', `/volumes/${volume.id}`)).status).toBe(404);
    expect([await list(first), await list(second)]).toEqual([[], []]);
  });

  it('decide where sandboxes run that mount them, and cannot be mounted together from two servers', async () => {
    const [here, there] = [await make(first, 'here'), await make(second, 'there')];
    const create = (names: string[]) =>
      ask(first, 'POST', '/v2/sandboxes', {
        templateID: 'base',
        volumeMounts: names.map((name) => ({ name, path: `/${name}` })),
      });
    expect(await create(['here', 'there'])).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("'here' and 'there' lie on different servers") },
    });
    // The process driver mounts nothing, and says so: the server that says so is the one that has the volume.
    const passedOn: string[] = [];
    const { nodes } = first.server.context;
    const findAlive = nodes.findAlive.bind(nodes);
    nodes.findAlive = (nodeId) => {
      passedOn.push(nodeId);
      return findAlive(nodeId);
    };
    first.server.context.fleet.places = () =>
      Promise.reject(new Error('nobody chooses a place for a volume'));
    for (const name of ['here', 'there'])
      expect(await create([name])).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('cannot mount volumes') },
      });
    expect(passedOn).toEqual([second.server.context.config.nodeId]);
    for (const volume of [here, there])
      expect((await ask(first, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
  });

  it('of an earlier version become those of the server that has their files', async () => {
    const volume = await make(second, 'old');
    const { db } = first.server.context;
    await db.updateTable('volumes').set({ node_id: null }).where('id', '=', volume.id).execute();
    await second.restart();
    // It has another port now.
    first.advance(2_000);
    expect((await content(first, volume, 'file?path=/a.txt', { method: 'PUT', body: 'a' })).status).toBe(201);
    expect([await list(first), await list(second)]).toEqual([[], [volume.id]]);
    expect((await ask(first, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
  });

  it('are refused while their server is lost; deleted then, their files go when it is back', async () => {
    const volume = await make(second, 'lost');
    const before = await list(second);
    expect(before).toEqual([volume.id]);
    await second.server.stop({ destroySandboxes: false });
    first.advance(2_000);
    const refused = await content(first, volume, 'file?path=/a.txt', { method: 'PUT', body: 'a' });
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { code: 'unavailable', message: expect.stringContaining('volume does not answer') },
    ]);
    expect((await ask(first, 'DELETE', `/volumes/${volume.id}`)).status).toBe(204);
    await second.restart();
    await second.server.context.volumes.emptyTrash();
    expect(await list(second)).toEqual([]);
  });
});

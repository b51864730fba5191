import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { issueNodeToken, NODE_HEADER } from '../../src/cluster/nodes/node-token.js';
import { run } from '../support/sandboxes.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';
import { type SharedServers, startSharedServers } from '../support/shared-servers.js';

describe.skipIf(dialect === 'sqlite')('two servers on one PostgreSQL', () => {
  let first: TestServer;
  let second: TestServer;
  let shared: SharedServers;
  beforeAll(async () => {
    shared = await startSharedServers(2);
    [first, second] = shared.servers as [TestServer, TestServer];
  });
  afterAll(async () => shared?.[Symbol.asyncDispose]());

  /** Asks the second server with the first one's key: both serve the team. */
  const askSecond = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    shared.ask(second, method, path, body, headers);
  const create = (body?: object) => shared.createOn(first, body);

  it("act on each other's sandboxes: read, list, pause, wake, kill", async () => {
    const { id } = await create({ metadata: { a: 'b' } });
    expect((await askSecond('GET', `/sandboxes/${id}`)).body).toMatchObject({
      sandboxID: id,
      metadata: { a: 'b' },
    });
    expect((await askSecond('GET', '/v2/sandboxes')).body).toHaveLength(1);
    expect((await askSecond('POST', `/sandboxes/${id}/timeout`, { timeout: 900 })).status).toBe(204);
    expect((await askSecond('POST', `/sandboxes/${id}/pause`)).status).toBe(204);
    expect((await first.api('GET', `/sandboxes/${id}`)).body.state).toBe('paused');
    const conflict = await askSecond('POST', `/sandboxes/${id}/pause`);
    expect(conflict).toMatchObject({ status: 409, body: { code: 409 } });
    const woken = await askSecond(
      'POST',
      `/v2/sandboxes/${id}/connect`,
      { timeout: 60 },
      { 'X-Request-Id': 'r-1' },
    );
    expect(woken).toMatchObject({ status: 201, body: { sandboxID: id } });
    expect(woken.headers.get('X-Request-Id')).toBe('r-1');
    expect((await askSecond('DELETE', `/sandboxes/${id}`)).status).toBe(204);
    expect((await askSecond('GET', `/sandboxes/${id}`)).status).toBe(404);
  });

  it('pass requests into sandboxes on, both ways and as streams', async () => {
    const sandbox = await create();
    expect(await run(second, sandbox, 'echo from there')).toBe('from there\n');
    const big = 'x'.repeat(3_000_000);
    const headers = {
      'Svc-Sandbox-Id': sandbox.id,
      'Svc-Sandbox-Port': '49983',
      'X-Access-Token': sandbox.token,
    };
    const url = `${second.server.sandboxUrl}/files?path=big.txt&username=user`;
    const up = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/octet-stream' },
      body: big,
    });
    expect([up.status, (await up.text()).length > 0]).toEqual([200, true]);
    expect(await (await fetch(url, { headers })).text()).toBe(big);
    const refused = await fetch(url, { headers: { ...headers, 'X-Access-Token': 'wrong' } });
    expect(refused.status).toBe(
      (
        await fetch(url.replace(second.server.sandboxUrl, first.server.sandboxUrl), {
          headers: { ...headers, 'X-Access-Token': 'wrong' },
        })
      ).status,
    );
    await first.api('DELETE', `/sandboxes/${sandbox.id}`);
  });

  it('start sandboxes where the stored state lies', async () => {
    const sandbox = await create();
    await run(first, sandbox, 'echo kept > note.txt');
    const snapshot = await first.api('POST', `/sandboxes/${sandbox.id}/snapshots`, {
      name: 'shared',
      memory: false,
    });
    expect(snapshot.status).toBe(201);
    const ask = () =>
      askSecond(
        'POST',
        '/v2/sandboxes',
        { templateID: snapshot.body.snapshotID ?? 'shared' },
        { 'Idempotency-Key': 'k1' },
      );
    const made = await ask();
    expect(made.status).toBe(201);
    expect((await ask()).body).toEqual(made.body);
    const copy = { id: made.body.sandboxID, token: made.body.envdAccessToken };
    expect(await run(second, copy, 'cat note.txt')).toBe('kept\n');
    for (const { id } of [copy, sandbox])
      expect((await askSecond('DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('refuse a forged node token, and pass nothing on twice', async () => {
    const { id } = await create();
    const forged = { 'Svc-Node-Request': `a.b.${Date.now()}.${'0'.repeat(64)}` };
    expect((await askSecond('GET', `/sandboxes/${id}`, undefined, forged)).status).toBe(200);
    // A record that names the wrong address: the request comes back to the node that sent it, which must not send it again.
    const { db } = second.server.context;
    const nodeId = first.server.context.config.nodeId;
    const real = await db.selectFrom('nodes').selectAll().where('id', '=', nodeId).executeTakeFirstOrThrow();
    first.server.context.nodes.announce = async () => ({ wasSilent: false });
    await db.updateTable('nodes').set({ api_url: second.server.apiUrl }).where('id', '=', nodeId).execute();
    second.advance(2_000);
    const looped = await askSecond('GET', `/sandboxes/${id}`);
    expect(looped).toMatchObject({ status: 503, body: { code: 503 } });
    await db.updateTable('nodes').set({ api_url: real.api_url }).where('id', '=', nodeId).execute();
    second.advance(2_000);
    expect((await askSecond('DELETE', `/sandboxes/${id}`)).status).toBe(204);
  });

  it('keep open at the gateway what they have open among themselves, for any request', async () => {
    const { config, keys, now } = first.server.context;
    /** Over a connection of its own: others of this process were trusted for what they brought. */
    const keptFor = async (token?: string) => {
      const agent = new Agent({ keepAlive: true });
      const headers = { 'Svc-Sandbox-Id': 'iunknown', 'Svc-Sandbox-Port': '3000' };
      const asked = get(`${first.server.sandboxUrl}/x`, {
        agent,
        headers: token === undefined ? headers : { ...headers, [NODE_HEADER]: token },
      });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      agent.destroy();
      return Number(/^timeout=(\d+)$/.exec(String(answer.headers['keep-alive']))?.[1]);
    };
    const request = {
      from: second.server.context.config.nodeId,
      to: config.nodeId,
      method: 'GET',
      url: '/x',
    };
    const token = issueNodeToken(keys, request, now());
    const stranger = await keptFor();
    expect(stranger).toBeLessThan(5);
    expect(await keptFor(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).toBe(stranger);
    expect(await keptFor(token)).toBeGreaterThan(60);
  });

  it('say 503 about sandboxes of a node without a heartbeat', async () => {
    const { id } = await create();
    first.server.context.nodes.announce = async () => ({ wasSilent: false });
    await second.server.context.db
      .updateTable('nodes')
      .set({ heartbeat_at: 0 })
      .where('id', '=', first.server.context.config.nodeId)
      .execute();
    second.advance(2_000);
    const answer = await askSecond('GET', `/sandboxes/${id}`);
    expect(answer).toMatchObject({
      status: 503,
      body: { code: 503, message: expect.stringContaining('node') },
    });
    expect(answer.headers.get('Retry-After')).toBe('5');
    const inside = await fetch(`${second.server.sandboxUrl}/health`, {
      headers: { 'Svc-Sandbox-Id': id, 'Svc-Sandbox-Port': '49983' },
    });
    expect([inside.status, ((await inside.json()) as { code: number }).code]).toEqual([503, 503]);
    await eventually('the first server is seen again', async () => {
      await first.server.context.db
        .updateTable('nodes')
        .set({ heartbeat_at: second.server.context.now() })
        .where('id', '=', first.server.context.config.nodeId)
        .execute();
      second.advance(1_000);
      return (await askSecond('DELETE', `/sandboxes/${id}`)).status === 204;
    });
  });
});

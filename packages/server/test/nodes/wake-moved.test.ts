import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PLAYED_PORT } from '../support/moving-driver.js';
import { type MovingServers, startMovingServers } from '../support/moving-servers.js';
import type { TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';

describe.skipIf(dialect === 'sqlite')(
  'a request into a paused sandbox whose server has no place for it',
  () => {
    let all: MovingServers;
    let first: TestServer;
    let second: TestServer;
    let third: TestServer;
    beforeAll(async () => {
      all = await startMovingServers(3, { server: { maxSandboxes: 2 } });
      [first, second, third] = all.servers as [TestServer, TestServer, TestServer];
      await all.drain(first, 'keep');
      // Where it goes is no matter of chance.
      await all.drain(third, 'keep');
    });
    afterAll(async () => all?.[Symbol.asyncDispose]());
    afterEach(async () => {
      const rows = await second.server.context.db.selectFrom('sandboxes').select('id').execute();
      for (const { id } of rows) await all.ask(second, 'DELETE', `/sandboxes/${id}`);
    });

    /** On the first one, which is drained by then. */
    const pausedOnFirst = async (body: object = {}) => {
      const { nodes } = first.server.context;
      Object.defineProperty(nodes, 'drain', { value: 'no', configurable: true });
      const made = await all.create(first, 'remembered', { autoResume: { enabled: true }, ...body });
      Reflect.deleteProperty(nodes, 'drain');
      expect((await all.ask(first, 'POST', `/sandboxes/${made.id}/pause`)).status).toBe(204);
      return made;
    };
    const headersOf = (id: string, more: Record<string, string> = {}) => ({
      'Svc-Sandbox-Id': id,
      'Svc-Sandbox-Port': String(PLAYED_PORT),
      ...more,
    });
    const get = async (server: TestServer, id: string, more: Record<string, string> = {}) => {
      const answer = await fetch(server.server.sandboxUrl, { headers: headersOf(id, more) });
      return { status: answer.status, body: await answer.text() };
    };
    const imports = () => {
      const driver = all.driverOf(second);
      const seen: string[] = [];
      driver.beforeImport = async ({ id }) => void seen.push(id);
      return seen;
    };

    it.each([
      ['the very server', () => first],
      ['one that takes it over', () => second],
      ['a third one', () => third],
    ])('is answered where there is room, asked %s', async (_, asked) => {
      const { id } = await pausedOnFirst();
      expect(await get(asked(), id)).toEqual({ status: 200, body: 'remembered' });
      expect(await all.rowOf(id)).toMatchObject({ node_id: all.idOf(second), state: 'running' });
      // From here on without a detour.
      for (const server of all.servers)
        expect(await get(server, id)).toEqual({ status: 200, body: 'remembered' });
    });

    it('moves it once, however many come at the same time, and all get their answers', async () => {
      const { id } = await pausedOnFirst();
      const seen = imports();
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) => get(all.servers[index % 3]!, id)),
      );
      expect(answers).toEqual(Array(30).fill({ status: 200, body: 'remembered' }));
      expect(seen).toHaveLength(1);
      const resumed = await second.server.context.db
        .selectFrom('events')
        .select('type')
        .where('sandbox_id', '=', id)
        .where('type', '=', 'sandbox.lifecycle.resumed')
        .execute();
      expect(resumed).toHaveLength(1);
    });

    it.each([
      ['the very server', () => first],
      ['another one', () => third],
    ])('is upgraded there, asked %s', async (_, asked) => {
      const { id } = await pausedOnFirst();
      const request = http.request(asked().server.sandboxUrl, {
        headers: headersOf(id, { Connection: 'Upgrade', Upgrade: 'played' }),
      });
      request.end();
      const [answer, socket, head] = (await once(request, 'upgrade')) as [
        http.IncomingMessage,
        import('node:net').Socket,
        Buffer,
      ];
      expect(answer.statusCode).toBe(101);
      expect(head.toString() + (await text(socket))).toBe('remembered');
      expect(await all.rowOf(id)).toMatchObject({ node_id: all.idOf(second), state: 'running' });
    });

    it('goes with its body to where it is', async () => {
      const { id } = await pausedOnFirst();
      const answer = await fetch(third.server.sandboxUrl, {
        method: 'POST',
        headers: headersOf(id),
        body: 'x'.repeat(300_000),
      });
      expect([answer.status, await answer.text()]).toEqual([200, 'remembered']);
    });

    it('moves nothing when it may not go in: a private port, a paused sandbox that wakes for no request', async () => {
      const seen = imports();
      const asleep = await pausedOnFirst({ autoResume: { enabled: false } });
      const secret = await pausedOnFirst({ network: { allowPublicTraffic: false } });
      for (const server of all.servers) {
        expect((await get(server, asleep.id)).status).toBe(502);
        expect((await get(server, secret.id)).status).toBe(403);
        expect((await get(server, secret.id, { 'Svc-Traffic-Access-Token': 'wrong' })).status).toBe(403);
      }
      expect(seen).toEqual([]);
      for (const { id } of [asleep, secret])
        expect(await all.rowOf(id)).toMatchObject({ node_id: all.idOf(first), state: 'paused' });
    });

    it('wakes it where it is when nobody else can take it', async () => {
      const { id } = await pausedOnFirst();
      all.driverOf(second).beforeImport = async () => {
        throw new Error('a disk broke');
      };
      expect(await get(third, id)).toEqual({ status: 200, body: 'remembered' });
      expect(await all.rowOf(id)).toMatchObject({ node_id: all.idOf(first), state: 'running' });
      all.driverOf(second).beforeImport = async () => {};
    });

    it('moves it for no team that is blocked', async () => {
      const { id } = await pausedOnFirst();
      const seen = imports();
      const { db, teams } = first.server.context;
      const { team_id: teamId } = await all.rowOf(id);
      const { get: getTeam } = teams;
      teams.get = async (wanted) => ({ ...(await getTeam.call(teams, wanted))!, blocked: true });
      expect((await get(first, id)).status).toBe(403);
      teams.get = getTeam;
      expect(seen).toEqual([]);
      expect(
        await db.selectFrom('sandboxes').select('node_id').where('team_id', '=', teamId).execute(),
      ).toEqual([{ node_id: all.idOf(first) }]);
    });
  },
);

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { operate } from '../support/operate.js';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { childStorage, dialect, dropSchema } from '../support/server-storage.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
const heavy = process.env.SVC_HEAVY === '1';

/** Each driver has a store of its own, as on three machines: what one stored is not there for the others. */
describe.skipIf(dialect === 'sqlite' || !able || !heavy)(
  'what servers on the linux driver have stored',
  () => {
    let first: TestServer;
    let second: TestServer;
    let third: ChildServer;
    let thirdDir: string;
    let thirdEnv: Record<string, string>;
    let schema: string | undefined;
    beforeAll(async () => {
      const stored = await childStorage();
      schema = stored.schema;
      const serverKey = randomBytes(32).toString('hex');
      const transferKey = randomBytes(32).toString('hex');
      const storage = { kind: 'postgres', url: stored.url!, poolSize: 4 } as const;
      const shared = {
        storage,
        serverKey,
        transferKey,
        driver: 'linux',
        poolSize: 0,
        validateResponses: false,
      } as const;
      first = await startTestServer(shared);
      second = await startTestServer(shared);
      thirdDir = await mkdtemp(path.join(tmpdir(), 'svc-third-'));
      thirdEnv = {
        ...childEnvironment(thirdDir, 'linux'),
        SVC_POSTGRES_URL: stored.url!,
        SVC_SERVER_KEY: serverKey,
        SVC_TRANSFER_KEY: transferKey,
        SVC_POOL_SIZE: '0',
        SVC_BASE_ROOT: 'host',
      };
      await eventually('both have reported their load', async () =>
        (await nodes()).every(({ report }) => report !== null),
      );
    });
    afterAll(async () => {
      const left = await first.server.context.db.selectFrom('sandboxes').select('id').execute();
      for (const { id } of left) await ask(first, 'DELETE', `/sandboxes/${id}`);
      await third?.stop();
      await second?.[Symbol.asyncDispose]();
      await first?.[Symbol.asyncDispose]();
      await dropSchema(schema);
      if (thirdDir !== undefined) await rm(thirdDir, { recursive: true, force: true });
    });

    interface NodeWire {
      nodeID: string;
      state: string;
      report: object | null;
    }
    const ask = (server: TestServer, method: string, target: string, body?: unknown) =>
      server.api(method, target, body, { 'X-API-Key': first.server.apiKey });
    const idOf = ({ server }: TestServer) => server.context.config.nodeId;
    const nodes = async () => (await operate(first.server, 'GET', '/nodes')).body as NodeWire[];
    const checkpointsOf = async ({ server }: TestServer) =>
      (await server.context.driver.listCheckpoints()).map(({ id }) => id);
    const rowOf = (id: string) =>
      first.server.context.db
        .selectFrom('sandboxes')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    const drain = async (server: TestServer, how: 'drain' | 'undrain') => {
      const body = how === 'drain' ? { sandboxes: 'keep' } : undefined;
      expect((await operate(first.server, 'POST', `/nodes/${idOf(server)}/${how}`, body)).status).toBe(200);
      await eventually(
        'it follows',
        () => server.server.context.nodes.drain === (how === 'drain' ? 'keep' : 'no'),
      );
      for (const { server: each } of [first, second])
        await eventually('all know', async () =>
          (await each.context.fleet.places()).some(
            ({ place }) => place.nodeId === idOf(server) && place.drained === (how === 'drain'),
          ),
        );
    };
    /** A sandbox on one server, whatever the others have room for. */
    const createOn = async (server: TestServer, templateID = 'base') => {
      const other = server === first ? second : first;
      await drain(other, 'drain');
      const made = await ask(server, 'POST', '/v2/sandboxes', { templateID, timeout: 3_600 });
      expect(made).toMatchObject({ status: 201 });
      await drain(other, 'undrain');
      return { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
    };
    type Sandbox = Awaited<ReturnType<typeof createOn>>;
    const startCounting = (sandbox: Sandbox) =>
      run(
        second,
        sandbox,
        'setsid sh -c "i=0; while :; do i=\\$((i+1)); echo \\$i > /tmp/n; mv /tmp/n /tmp/count; sleep 0.05; done" > /dev/null 2>&1 &',
      );
    const count = async (sandbox: Sandbox) => Number(await run(second, sandbox, 'cat /tmp/count'));

    it('resumes with its memory where there is room: a paused sandbox of a drained server wakes on another one', async () => {
      const sandbox = await createOn(first);
      await startCounting(sandbox);
      await eventually('it counts', async () => (await count(sandbox).catch(() => 0)) > 5);
      expect((await ask(first, 'POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
      const { checkpoint_id: checkpointId } = await rowOf(sandbox.id);
      await drain(first, 'drain');
      // Asked is the very server that has it.
      const woken = await ask(first, 'POST', `/v2/sandboxes/${sandbox.id}/connect`, { timeout: 3_600 });
      expect(woken).toMatchObject({ status: 201 });
      expect(await rowOf(sandbox.id)).toMatchObject({ node_id: idOf(second), state: 'running' });
      const before = await count(sandbox);
      expect(before).toBeGreaterThan(5);
      await eventually('its program continues', async () => (await count(sandbox)) > before);
      await eventually('the copy that was left is removed', async () => {
        const left = [...(await checkpointsOf(first)), ...(await checkpointsOf(second))];
        return !left.includes(checkpointId!);
      });
      await drain(first, 'undrain');
      // And back, asked through the other one.
      expect((await ask(first, 'POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
      await drain(second, 'drain');
      expect(
        (await ask(first, 'POST', `/v2/sandboxes/${sandbox.id}/connect`, { timeout: 3_600 })).status,
      ).toBe(201);
      expect(await rowOf(sandbox.id)).toMatchObject({ node_id: idOf(first) });
      const later = await count(sandbox);
      expect(later).toBeGreaterThan(before);
      await drain(second, 'undrain');
      expect((await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    });

    it('starts anywhere: sandboxes of a snapshot begin on a server that has only a copy, which goes with it', async () => {
      const source = await createOn(first);
      await startCounting(source);
      await run(second, source, 'echo kept > /home/user/file');
      const snapshot = await ask(first, 'POST', `/sandboxes/${source.id}/snapshots`, {});
      expect(snapshot.status).toBe(201);
      const templateID = snapshot.body.snapshotID as string;
      const kept = (await checkpointsOf(first)).filter((id) => id.startsWith('snapshot-'));
      expect(kept.length).toBe(1);
      await drain(first, 'drain');
      const made = await Promise.all(
        [first, second, second].map((server) =>
          ask(server, 'POST', '/v2/sandboxes', { templateID, timeout: 3_600 }),
        ),
      );
      const ids = made.map(({ status, body }) => {
        expect(status).toBe(201);
        return body.sandboxID as string;
      });
      for (const { body } of made) {
        const sandbox = { id: body.sandboxID as string, token: body.envdAccessToken as string };
        expect(await rowOf(sandbox.id)).toMatchObject({ node_id: idOf(second) });
        expect(await run(first, sandbox, 'cat /home/user/file')).toBe('kept\n');
        const before = await count(sandbox);
        await eventually('its program continues', async () => (await count(sandbox)) > before);
      }
      // Many wait for it, and it comes once.
      const copies = await first.server.context.db.selectFrom('object_copies').selectAll().execute();
      expect(copies.filter(({ object_id: id }) => id === kept[0])).toMatchObject([{ node_id: idOf(second) }]);
      expect(await checkpointsOf(second)).toContain(kept[0]);
      await drain(first, 'undrain');
      for (const id of [...ids, source.id])
        expect((await ask(first, 'DELETE', `/sandboxes/${id}`)).status).toBe(204);
      expect((await ask(first, 'DELETE', `/templates/${templateID.split(':')[0]}`)).status).toBe(204);
      await eventually('every copy is deleted', async () =>
        [...(await checkpointsOf(first)), ...(await checkpointsOf(second))].every((id) => id !== kept[0]),
      );
      await eventually('no record of one is left', async () => {
        const rows = await first.server.context.db.selectFrom('object_copies').select('kind').execute();
        return rows.every(({ kind }) => kind !== 'checkpoint');
      });
    });

    it('leaves a server that empties itself: programs continue on other nodes with their memory, and it can be removed', async () => {
      third = await startChildServer(thirdEnv);
      const known = new Set([idOf(first), idOf(second)]);
      const thirdNode = async () => (await nodes()).find(({ nodeID }) => !known.has(nodeID));
      await eventually('it has reported its load', async () => (await thirdNode())?.report != null);
      const thirdId = (await thirdNode())!.nodeID;
      await drain(first, 'drain');
      await drain(second, 'drain');
      const made = await ask(first, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 3_600 });
      expect(made).toMatchObject({ status: 201 });
      const sandbox = { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
      expect(await rowOf(sandbox.id)).toMatchObject({ node_id: thirdId });
      await startCounting(sandbox);
      await eventually('it counts', async () => (await count(sandbox).catch(() => 0)) > 5);
      const before = await rowOf(sandbox.id);
      await drain(second, 'undrain');
      const body = { sandboxes: 'move' };
      expect((await operate(first.server, 'POST', `/nodes/${thirdId}/drain`, body)).status).toBe(200);
      await eventually('it is on its way', async () => (await rowOf(sandbox.id)).state !== 'running');
      // Wherever it is by then, whoever has its record lets it go on.
      await third.kill();
      third = await startChildServer(thirdEnv);
      await eventually('it runs on another node', async () => {
        const row = await rowOf(sandbox.id);
        return row.state === 'running' && row.node_id === idOf(second);
      });
      expect(await rowOf(sandbox.id)).toMatchObject({ end_at: before.end_at, config: before.config });
      const moved = await count(sandbox);
      expect(moved).toBeGreaterThan(5);
      await eventually('its program continues', async () => (await count(sandbox)) > moved);
      await eventually('it is empty', async () => {
        const { moving } = (await thirdNode()) as unknown as {
          moving: { sandboxes: number; templates: number; staysTotal: number } | null;
        };
        return moving !== null && moving.sandboxes + moving.templates + moving.staysTotal === 0;
      });
      await third.stop();
      expect((await operate(first.server, 'DELETE', `/nodes/${thirdId}`)).status).toBe(204);
      await drain(first, 'undrain');
      expect((await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    });

    it('is given to nobody but another server', async () => {
      const sandbox = await createOn(first);
      expect((await ask(first, 'POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
      const { checkpoint_id: id } = await rowOf(sandbox.id);
      for (const target of [
        `/node/objects/checkpoint/${id}`,
        `/node/objects/checkpoint/${id}/description`,
        `/node/objects/checkpoint/${id}?offset=0`,
      ])
        expect((await ask(first, 'GET', target)).status).toBe(404);
      expect((await ask(second, 'POST', `/node/sandboxes/${sandbox.id}/take`)).status).toBe(404);
      expect(await rowOf(sandbox.id)).toMatchObject({ node_id: idOf(first), state: 'paused' });
      expect((await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    });

    it('outlives a server that is killed while it takes a sandbox, which it can take once it is back', async () => {
      third = await startChildServer(thirdEnv);
      const known = new Set([idOf(first), idOf(second)]);
      const thirdNode = async () => (await nodes()).find(({ nodeID }) => !known.has(nodeID));
      await eventually('it has reported its load', async () => (await thirdNode())?.report != null);
      const thirdId = (await thirdNode())!.nodeID;
      const sandbox = await createOn(first);
      // Memory that does not come in a moment.
      await run(
        second,
        sandbox,
        "setsid python3 -c \"import os,time; kept=os.urandom(150*2**20); open('/tmp/ready','w').close(); time.sleep(9999)\" > /dev/null 2>&1 &",
      );
      await eventually(
        'it holds memory',
        async () => (await run(second, sandbox, 'ls /tmp/ready || true')) !== '',
      );
      await startCounting(sandbox);
      expect((await ask(first, 'POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
      await drain(first, 'drain');
      await drain(second, 'drain');
      const waking = ask(first, 'POST', `/v2/sandboxes/${sandbox.id}/connect`, { timeout: 3_600 });
      await eventually('the copy has begun', async () =>
        (await first.server.context.db.selectFrom('object_copies').selectAll().execute()).some(
          ({ node_id: nodeId, kind }) => nodeId === thirdId && kind === 'checkpoint',
        ),
      );
      await third.kill();
      // Its own server wakes it all the same, or says to try again.
      const answer = await waking;
      expect([201, 503]).toContain(answer.status);
      await eventually('it is awake where it was', async () => {
        const woken = await ask(first, 'POST', `/v2/sandboxes/${sandbox.id}/connect`, { timeout: 3_600 });
        return woken.status === 200 || woken.status === 201;
      });
      expect(await rowOf(sandbox.id)).toMatchObject({ node_id: idOf(first), state: 'running' });
      third = await startChildServer(thirdEnv);
      await eventually('it lives again', async () => (await thirdNode())?.state === 'alive');
      expect((await ask(first, 'POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
      const before = await rowOf(sandbox.id);
      expect(before.state).toBe('paused');
      await eventually('it wakes on the one that was killed', async () => {
        const woken = await ask(first, 'POST', `/v2/sandboxes/${sandbox.id}/connect`, { timeout: 3_600 });
        expect([200, 201, 503]).toContain(woken.status);
        if (woken.status === 503) return false;
        const row = await rowOf(sandbox.id);
        if (row.node_id === thirdId) return true;
        expect((await ask(first, 'POST', `/sandboxes/${sandbox.id}/pause`)).status).toBe(204);
        return false;
      });
      const counted = await count(sandbox);
      expect(counted).toBeGreaterThan(0);
      await eventually('its program continues', async () => (await count(sandbox)) > counted);
      await drain(first, 'undrain');
      await drain(second, 'undrain');
      expect((await ask(first, 'DELETE', `/sandboxes/${sandbox.id}`)).status).toBe(204);
    });
  },
);

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { operate } from '../support/operate.js';
import { run as runOn } from '../support/sandboxes.js';
import { type HostNetwork, type SeparateNetworks, separateNetworks } from '../support/separate-networks.js';
import type { ApiAnswer, TestServer } from '../support/server.js';
import { childStorage, dialect, dropSchema } from '../support/server-storage.js';

const heavy = process.env.SVC_HEAVY === '1';
const able = heavy && linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
/** Sandboxes that run on one host. */
const PLACES = 3;
/** The name of a program in a sandbox, by which it is found from outside. */
const MARK = `marked-${randomBytes(6).toString('hex')}`;

interface Host {
  network: HostNetwork;
  dataDir: string;
  nodeId: string;
  server: ChildServer;
}

interface NodeWire {
  nodeID: string;
  state: string;
  sandboxes: { running: number; paused: number };
  report: { running: number } | null;
}

/**
 * Three machines as far as one can play them: each has a network of its own, a data directory, a server and the process of root with the
 * linux driver. They share a PostgreSQL and a switch, whose plugs can be pulled. By hand: it takes some minutes and needs root.
 */
describe.skipIf(dialect === 'sqlite' || !able)(
  'three hosts with networks of their own',
  { timeout: 600_000 },
  () => {
    let directory: string;
    let schema: string | undefined;
    let networks: SeparateNetworks;
    let hosts: Host[];
    let apiKey: string;
    const operatorToken = randomBytes(32).toString('hex');
    const keys = {
      SVC_SERVER_KEY: randomBytes(32).toString('hex'),
      SVC_TRANSFER_KEY: randomBytes(32).toString('hex'),
      SVC_OPERATOR_TOKEN: operatorToken,
    };

    const start = (network: HostNetwork, dataDir: string) =>
      startChildServer(
        {
          ...{ ...childEnvironment(dataDir, 'linux'), ...keys, SVC_POSTGRES_URL: networks.databaseUrl },
          ...{
            SVC_HOST: network.address,
            SVC_API_PORT: '3000',
            SVC_SANDBOX_PORT: '3002',
            SVC_OPERATOR_PORT: '3003',
          },
          ...{ SVC_POOL_SIZE: '0', SVC_BASE_ROOT: 'host', SVC_MAX_SANDBOXES: String(PLACES) },
        },
        { within: network.within },
      );

    beforeAll(async () => {
      directory = await mkdtemp(path.join(tmpdir(), 'svc-hosts-'));
      await chmod(directory, 0o711);
      const stored = await childStorage();
      schema = stored.schema;
      networks = await separateNetworks(3, stored.url!);
      hosts = [];
      for (const [index, network] of networks.hosts.entries()) {
        const dataDir = path.join(directory, String(index));
        const server = await start(network, dataDir);
        const nodeId = readFileSync(path.join(dataDir, 'server', 'node-id'), 'utf8').trim();
        hosts.push({ network, dataDir, nodeId, server });
      }
      const file = path.join(hosts[0]!.dataDir, 'server', 'credentials.json');
      ({ apiKey } = JSON.parse(readFileSync(file, 'utf8')));
      await eventually('all have reported their load', async () =>
        (await nodes()).every(({ report }) => report !== null),
      );
    }, 600_000);
    afterAll(async () => {
      for (const { network } of hosts ?? []) await network.join();
      for (const id of await listed().catch(() => []))
        await ask('DELETE', `/sandboxes/${id}`).catch(() => undefined);
      for (const { server } of hosts ?? [])
        if (server.child.exitCode === null && server.child.signalCode === null) await server.stop();
      await networks?.[Symbol.asyncDispose]();
      await dropSchema(schema);
      await rm(directory, { recursive: true, force: true });
    }, 600_000);

    const operateOn = (host: Host, method: string, target: string, body?: unknown) =>
      operate({ operatorUrl: host.server.operatorUrl, operatorToken } as never, method, target, body);
    const nodes = async () => (await operateOn(hosts[0]!, 'GET', '/nodes')).body as NodeWire[];
    const nodeOf = async ({ nodeId }: Host) => (await nodes()).find(({ nodeID }) => nodeID === nodeId);
    const ask = async (
      method: string,
      target: string,
      body?: unknown,
      host = hosts[0]!,
    ): Promise<ApiAnswer> => {
      const response = await fetch(`${host.server.apiUrl}${target}`, {
        method,
        headers: {
          'X-API-Key': apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
    };
    const listed = async () =>
      ((await ask('GET', '/v2/sandboxes')).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
    interface Sandbox {
      id: string;
      token: string;
    }
    const toSandbox = (body: { sandboxID: string; envdAccessToken: string }): Sandbox => ({
      id: body.sandboxID,
      token: body.envdAccessToken,
    });
    const create = async (host = hosts[0]!): Promise<Sandbox> => {
      const made = await ask('POST', '/v2/sandboxes', { templateID: 'base', timeout: 3_600 }, host);
      expect(made).toMatchObject({ status: 201 });
      return toSandbox(made.body);
    };
    const run = (sandbox: Sandbox, command: string, { server } = hosts[0]!) =>
      runOn({ server } as unknown as TestServer, sandbox, command);
    const counts = async () => {
      const all = await nodes();
      return hosts.map(({ nodeId }) => all.find(({ nodeID }) => nodeID === nodeId)?.sandboxes.running ?? 0);
    };
    const clear = async () => {
      for (const id of await listed()) expect((await ask('DELETE', `/sandboxes/${id}`)).status).toBe(204);
      await eventually('all have reported that they are empty', async () =>
        (await nodes()).every(({ report }) => report?.running === 0),
      );
    };
    /** Fills one host, and whatever comes before it; the others keep what they had. @returns its sandboxes */
    const fill = async (host: Host): Promise<Sandbox[]> => {
      const index = hosts.indexOf(host);
      const made: Sandbox[] = [];
      const others: Sandbox[] = [];
      for (let before = await counts(); before[index]! < PLACES; ) {
        const sandbox = await create(host);
        const after = await counts();
        (after[index]! > before[index]! ? made : others).push(sandbox);
        before = after;
      }
      for (const { id } of others) expect((await ask('DELETE', `/sandboxes/${id}`)).status).toBe(204);
      return made;
    };
    const startCounting = async (sandbox: Sandbox) => {
      await run(
        sandbox,
        `cat > /tmp/count.py <<'END'
import sys, time
n = 0
while True:
    n += 1
    with open('/dev/shm/count.new', 'w') as f: f.write(str(n))
    import os; os.rename('/dev/shm/count.new', '/dev/shm/count')
    time.sleep(0.05)
END
setsid python3 /tmp/count.py ${MARK} > /dev/null 2>&1 &`,
      );
      await eventually('it counts', async () => (await count(sandbox).catch(() => 0)) > 5);
    };
    const count = async (sandbox: Sandbox) => Number(await run(sandbox, 'cat /dev/shm/count'));
    const goesOn = async (sandbox: Sandbox, from: number) => {
      const before = await count(sandbox);
      expect(before).toBeGreaterThanOrEqual(from);
      await eventually('its program continues', async () => (await count(sandbox)) > before);
    };
    /** Processes of this machine that are called so, in whatever namespace. */
    const marked = () =>
      readdirSync('/proc').filter((pid) => {
        try {
          return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`\0${MARK}`);
        } catch {
          return false;
        }
      }).length;

    it('spread new sandboxes, and reach each of them through any host', async () => {
      const made: Sandbox[] = [];
      for (let index = 0; index < 2 * hosts.length; index += 1) made.push(await create());
      for (const each of await counts()) expect(each).toBeGreaterThan(0);
      for (const sandbox of made)
        for (const host of hosts) expect(await run(sandbox, 'echo there', host)).toBe('there\n');
      await clear();
    });

    it('start forks of a full host on the others, with the memory of their source', async () => {
      const [first] = hosts as [Host];
      const [source] = (await fill(first)) as [Sandbox];
      await startCounting(source);
      const counted = await count(source);
      const forked = await ask('POST', `/sandboxes/${source.id}/fork`, { count: 4, timeout: 3_600 });
      expect(forked).toMatchObject({ status: 201 });
      const forks = (forked.body as { sandbox: never; error?: unknown }[]).map(({ sandbox, error }) => {
        expect(error).toBeUndefined();
        return toSandbox(sandbox);
      });
      expect((await counts())[0]).toBe(PLACES);
      for (const sandbox of [source, ...forks]) await goesOn(sandbox, counted);
      // One more than all have room for.
      const more = await ask('POST', `/sandboxes/${source.id}/fork`, { count: 3, timeout: 3_600 });
      const errors = (more.body as { error?: { code: number } }[]).flatMap(({ error }) => error?.code ?? []);
      expect([more.status, errors]).toEqual([201, [503]]);
      await clear();
      expect(marked()).toBe(0);
    });

    it('continue without one that is cut off, and with it when it is back', async () => {
      const [first, , third] = hosts as [Host, Host, Host];
      const [far] = (await fill(third)) as [Sandbox];
      await startCounting(far);
      const near = (await fill(first))[0]!;
      const counted = await count(far);
      await third.network.cut();
      expect((await ask('GET', `/sandboxes/${far.id}`)).status).toBe(503);
      await eventually('it is taken for dead', async () => (await nodeOf(third))?.state === 'silent');
      for (const method of ['GET', 'POST'] as const)
        expect(await ask(method, `/sandboxes/${far.id}${method === 'GET' ? '' : '/pause'}`)).toMatchObject({
          status: 503,
          body: { code: 503, message: expect.stringContaining('does not answer') },
        });
      expect(await run(near, 'echo on')).toBe('on\n');
      // The second one has all the room that is left.
      const made = await create();
      expect((await counts())[1]).toBe(1);
      expect(await run(made, 'echo new')).toBe('new\n');
      await third.network.join();
      await eventually('it is back', async () => (await ask('GET', `/sandboxes/${far.id}`)).status === 200);
      await eventually('its program is reached', async () => (await count(far)) > counted);
      await clear();
    });

    it('take over all that a drained one has, with its memory', async () => {
      const [first, , third] = hosts as [Host, Host, Host];
      const [running, paused] = (await fill(third)) as [Sandbox, Sandbox];
      const counted: number[] = [];
      for (const sandbox of [running, paused]) {
        await startCounting(sandbox);
        counted.push(await count(sandbox));
      }
      expect((await ask('POST', `/sandboxes/${paused.id}/pause`)).status).toBe(204);
      const target = `/nodes/${third.nodeId}`;
      expect((await operateOn(first, 'POST', `${target}/drain`, { sandboxes: 'move' })).status).toBe(200);
      await eventually('it is empty', async () => {
        const left = (await nodeOf(third))!.sandboxes;
        return left.running + left.paused === 0;
      });
      await goesOn(running, counted[0]!);
      expect((await ask('POST', `/v2/sandboxes/${paused.id}/connect`, { timeout: 3_600 })).status).toBe(201);
      await goesOn(paused, counted[1]!);
      expect((await counts())[2]).toBe(0);
      expect((await operateOn(first, 'POST', `${target}/undrain`)).status).toBe(200);
      await clear();
      await eventually('it takes sandboxes again', async () => {
        const { id } = await create(third);
        const taken = (await counts())[2] === 1;
        expect((await ask('DELETE', `/sandboxes/${id}`)).status).toBe(204);
        return taken;
      });
      expect(marked()).toBe(0);
    });

    it('lose one with both of its processes: its sandboxes are given up, and nothing of them is left once it is back', async () => {
      const [first, , third] = hosts as [Host, Host, Host];
      const [lost] = (await fill(third)) as [Sandbox];
      await startCounting(lost);
      const root = third.server.child.pid!;
      const children = readFileSync(`/proc/${root}/task/${root}/children`, 'utf8')
        .trim()
        .split(' ')
        .map(Number);
      for (const pid of children)
        if (!/^Uid:\s+0\s/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) process.kill(pid, 'SIGKILL');
      await third.server.kill();
      await eventually('it is taken for dead', async () => (await nodeOf(third))?.state === 'silent');
      expect((await ask('GET', `/sandboxes/${lost.id}`)).status).toBe(503);
      const forgotten = await operateOn(first, 'POST', `/nodes/${third.nodeId}/forget`);
      expect(forgotten).toMatchObject({ status: 200, body: { sandboxes: PLACES } });
      expect((await ask('GET', `/sandboxes/${lost.id}`)).status).toBe(404);
      expect(await nodeOf(third)).toBeUndefined();
      expect((await run(await create(), 'echo on')).trim()).toBe('on');
      third.server = await start(third.network, third.dataDir);
      await eventually('its programs have ended', () => marked() === 0);
      await eventually('it takes sandboxes again', async () => (await nodeOf(third))?.report?.running === 0);
      await clear();
    });
  },
);

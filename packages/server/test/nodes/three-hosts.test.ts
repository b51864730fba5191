import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkHost, linuxDriverCanRun } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '#support/eventually';
import { findServiceUser } from '../../src/storage/data/service-user.js';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { operate } from '../support/operate.js';
import { run } from '../support/sandboxes.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { childStorage, dialect, dropSchema } from '../support/server-storage.js';

const able = linuxDriverCanRun(await checkHost({ dataDir: tmpdir() }));
const heavy = process.env.SVC_HEAVY === '1';

/** The server itself, which the process of root has started as another user. */
async function serverOf(root: number): Promise<number> {
  const { uid } = await findServiceUser();
  const children = await readFile(`/proc/${root}/task/${root}/children`, 'utf8');
  for (const pid of children.trim().split(' ').map(Number))
    if ((await stat(`/proc/${pid}`)).uid === uid) return pid;
  throw new Error('root has started no server');
}

function resumeMoved(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // It has ended, as it should.
  }
}

/** Each driver has network namespaces, a store and a pool of its own, as on three machines. */
describe.skipIf(dialect === 'sqlite' || !able || !heavy)('three servers on the linux driver', () => {
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
    const storage = { kind: 'postgres', url: stored.url!, poolSize: 4 } as const;
    const shared = { storage, serverKey, driver: 'linux', poolSize: 0, validateResponses: false } as const;
    first = await startTestServer(shared);
    second = await startTestServer(shared);
    thirdDir = await mkdtemp(path.join(tmpdir(), 'svc-third-'));
    thirdEnv = {
      ...childEnvironment(thirdDir, 'linux'),
      ...{
        SVC_POSTGRES_URL: stored.url!,
        SVC_SERVER_KEY: serverKey,
        SVC_POOL_SIZE: '0',
        SVC_BASE_ROOT: 'host',
      },
    };
    third = await startChildServer(thirdEnv);
  });
  afterAll(async () => {
    for (const { id } of await all()) await ask(first, 'DELETE', `/sandboxes/${id}`);
    await third?.stop();
    await second?.[Symbol.asyncDispose]();
    await first?.[Symbol.asyncDispose]();
    await dropSchema(schema);
    await rm(thirdDir, { recursive: true, force: true });
  });

  const ask = (server: TestServer, method: string, target: string, body?: unknown) =>
    server.api(method, target, body, { 'X-API-Key': first.server.apiKey });
  const create = async (server: TestServer) => {
    const made = await ask(server, 'POST', '/v2/sandboxes', { templateID: 'base', timeout: 3_600 });
    expect(made).toMatchObject({ status: 201 });
    return { id: made.body.sandboxID as string, token: made.body.envdAccessToken as string };
  };
  const all = () =>
    first.server.context.db.selectFrom('sandboxes').select(['id', 'node_id', 'state']).execute();
  const nodes = async () => (await operate(first.server, 'GET', '/nodes')).body as NodeWire[];
  interface NodeWire {
    nodeID: string;
    state: string;
    sandboxes: { running: number; paused: number };
    report: { maxSandboxes: number } | null;
  }
  const idOf = ({ server }: TestServer) => server.context.config.nodeId;
  const thirdId = async () =>
    (await nodes()).map(({ nodeID }) => nodeID).find((id) => id !== idOf(first) && id !== idOf(second))!;
  const made: { id: string; token: string }[] = [];

  it('spread sandboxes, and reach each through any of them', async () => {
    await eventually('all have reported their load', async () =>
      (await nodes()).every(({ report }) => report !== null),
    );
    for (let count = 0; count < 9; count += 1) made.push(await create(first));
    const owners = (await all()).map(({ node_id: nodeId }) => nodeId);
    expect(new Set(owners).size).toBe(3);
    for (const nodeId of new Set(owners)) {
      const count = owners.filter((owner) => owner === nodeId).length;
      expect(count).toBeGreaterThanOrEqual(2);
      expect(count).toBeLessThanOrEqual(5);
    }
    for (const sandbox of made)
      for (const server of [first, second]) expect(await run(server, sandbox, 'echo there')).toBe('there\n');
  });

  it('drain one: what ran there is paused with its memory, new ones go to other nodes, and it continues when it is woken', async () => {
    const onFirst = (await all()).filter(({ node_id: nodeId }) => nodeId === idOf(first));
    const sandbox = made.find(({ id }) => id === onFirst[0]!.id)!;
    await run(
      second,
      sandbox,
      'setsid sh -c "i=0; while :; do i=\\$((i+1)); echo \\$i > /tmp/count; sleep 0.05; done" > /dev/null 2>&1 &',
    );
    const drained = await operate(second.server, 'POST', `/nodes/${idOf(first)}/drain`, {
      sandboxes: 'pause',
    });
    expect(drained.status).toBe(200);
    await eventually('it is empty', async () => {
      const node = (await nodes()).find(({ nodeID }) => nodeID === idOf(first));
      return node?.sandboxes.running === 0 && node.sandboxes.paused === onFirst.length;
    });
    await eventually(
      'no instance is left',
      async () => (await first.server.context.driver.list()).length === 0,
    );
    const elsewhere = await create(first);
    made.push(elsewhere);
    expect((await all()).find(({ id }) => id === elsewhere.id)?.node_id).not.toBe(idOf(first));
    expect((await operate(second.server, 'POST', `/nodes/${idOf(first)}/undrain`)).status).toBe(200);
    await eventually('it follows', () => first.server.context.nodes.drain === 'no');
    expect((await ask(second, 'POST', `/v2/sandboxes/${sandbox.id}/connect`, {})).status).toBe(201);
    const before = Number(await run(second, sandbox, 'cat /tmp/count'));
    await eventually(
      'its program continues',
      async () => Number(await run(second, sandbox, 'cat /tmp/count')) > before,
    );
    expect(before).toBeGreaterThan(0);
  });

  it('continue without one that freezes and dies, whose sandboxes can be killed, and takes it back', async () => {
    const lost = await thirdId();
    const there = (await all()).filter(({ node_id: nodeId }) => nodeId === lost).map(({ id }) => id);
    expect(there.length).toBeGreaterThanOrEqual(2);
    const server = await serverOf(third.child.pid!);
    // A frozen one could not be stopped after a failure.
    onTestFinished(() => resumeMoved(server));
    process.kill(server, 'SIGSTOP');
    // It still counts as alive: nobody waits for it longer than it takes to see that it says nothing.
    for (let count = 0; count < 4; count += 1) made.push(await create(first));
    const inside = await fetch(`${first.server.sandboxUrl}/health`, {
      headers: { 'Svc-Sandbox-Id': there[0]!, 'Svc-Sandbox-Port': '49983' },
    });
    expect(inside.status).toBe(503);
    process.kill(server, 'SIGKILL');
    await third.kill();
    await eventually('it is taken for dead', async () =>
      (await nodes()).some(({ nodeID, state }) => nodeID === lost && state === 'silent'),
    );
    await eventually('a sandbox of it can be killed', async () => {
      const answer = await ask(second, 'DELETE', `/sandboxes/${there[0]}`);
      expect([204, 503]).toContain(answer.status);
      return answer.status === 204;
    });
    expect((await ask(second, 'GET', `/sandboxes/${there[0]}`)).status).toBe(404);
    expect((await ask(second, 'GET', `/sandboxes/${there[1]}`)).status).toBe(503);
    made.push(await create(second));
    third = await startChildServer(thirdEnv);
    await eventually('it is back with the rest', async () => {
      const answer = await ask(first, 'GET', `/sandboxes/${there[1]}`);
      return answer.status === 200 && answer.body.state === 'running';
    });
    const rest = made.find(({ id }) => id === there[1])!;
    await eventually(
      'its programs are reached',
      async () => (await run(first, rest, 'echo back').catch(() => '')) === 'back\n',
    );
    expect((await all()).some(({ id }) => id === there[0])).toBe(false);
  });
});

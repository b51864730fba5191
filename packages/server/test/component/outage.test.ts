import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { type ChildServer, childEnvironment, startChildServer } from '../support/child-server.js';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.js';
import { dialect } from '../support/server-storage.js';

/** The long way: three servers, and a database that stands still for 20 s. */
const heavy = process.env.SVC_HEAVY === '1';
const WORKERS = 4;

interface Node {
  server: ChildServer;
  dataDir: string;
  apiKey: string;
}

describe.skipIf(dialect === 'sqlite').each(heavy ? [1, 3] : [1])('%i servers under load', (count) => {
  let postgres: OwnPostgres;
  const nodes: Node[] = [];
  beforeAll(async () => {
    // Fewer connections than three servers would like to have.
    postgres = await startOwnPostgres('-c max_connections=15');
    const serverKey = randomBytes(32).toString('hex');
    nodes.push(
      ...(await Promise.all(
        Array.from({ length: count }, async () => {
          const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-outage-'));
          const server = await startChildServer({
            ...childEnvironment(dataDir, 'process'),
            SVC_POSTGRES_URL: postgres.url,
            SVC_SERVER_KEY: serverKey,
          });
          const { apiKey } = JSON.parse(await readFile(path.join(dataDir, 'credentials.json'), 'utf8'));
          return { server, dataDir, apiKey };
        }),
      )),
    );
  });
  afterAll(async () => {
    await Promise.all(nodes.map(({ server }) => server.stop()));
    await postgres?.[Symbol.asyncDispose]();
    for (const { dataDir } of nodes) await rm(dataDir, { recursive: true, force: true });
  });

  async function ask(node: Node, method: string, target: string, body?: object): Promise<Response> {
    return fetch(`${node.server.apiUrl}${target}`, {
      method,
      headers: {
        'X-API-Key': node.apiKey,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Creates, pauses, wakes and kills until told to end. Counts what was answered. */
  async function work(signal: AbortSignal, answers: Map<string, number>): Promise<void> {
    const note = async (what: string, answer: Promise<Response>): Promise<Response> => {
      const response = await answer;
      const key = `${what} ${response.status}`;
      answers.set(key, (answers.get(key) ?? 0) + 1);
      if (response.status >= 400) await pause(20);
      return response;
    };
    for (let turn = 0; !signal.aborted; turn++) {
      const node = nodes[turn % nodes.length]!;
      const made = await note('create', ask(node, 'POST', '/v2/sandboxes', { templateID: 'base' }));
      if (made.status !== 201) continue;
      const { sandboxID } = (await made.json()) as { sandboxID: string };
      await note('pause', ask(node, 'POST', `/sandboxes/${sandboxID}/pause`));
      await note('connect', ask(node, 'POST', `/v2/sandboxes/${sandboxID}/connect`, { timeout: 60 }));
      await note('kill', ask(node, 'DELETE', `/sandboxes/${sandboxID}`));
    }
  }

  /** Does something to the database under load; then everything works again and nothing is left half done. */
  async function outlives(what: () => Promise<void>): Promise<void> {
    const over = new AbortController();
    const answers = new Map<string, number>();
    const succeeded = () => answers.get('kill 204') ?? 0;
    const workers = Array.from({ length: WORKERS }, () => work(over.signal, answers));
    await eventually('work before', () => succeeded() >= WORKERS);
    await what();
    const before = succeeded();
    await eventually('work after', () => succeeded() >= before + 2 * WORKERS, 60_000);
    over.abort();
    await Promise.all(workers);
    for (const { server } of nodes) expect(server.child.exitCode).toBeNull();
    const seen = [...answers.keys()].filter((key) => / (408|500)$/.test(key));
    expect(seen, JSON.stringify(Object.fromEntries(answers))).toEqual([]);

    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      // Sandboxes that were created without an answer, or not killed, still run; changes that broke off are repaired.
      await eventually('the end of what broke off', async () => {
        const { rows } = await client.query(
          "select id from sandboxes where state not in ('running', 'paused')",
        );
        return rows.length === 0;
      });
      const { rows } = await client.query<{ id: string }>('select id from sandboxes');
      for (const { id } of rows)
        expect((await ask(nodes[0]!, 'DELETE', `/sandboxes/${id}`)).status, id).toBe(204);
      expect((await client.query('select id from sandboxes')).rows).toEqual([]);
    } finally {
      await client.end();
    }
  }

  it('outlive a restart of PostgreSQL', () => outlives(() => postgres.restart()), 120_000);

  it(
    'outlive that their connections are ended',
    () =>
      outlives(async () => {
        for (let round = 0; round < 5; round++) {
          let ended = 0;
          await eventually('connections to end', async () => {
            ended += await postgres.terminateBackends();
            return ended >= 3;
          });
        }
      }),
    120_000,
  );

  it(
    `outlive a PostgreSQL that stands still${heavy ? ' for 20 s' : ''}`,
    () =>
      outlives(async () => {
        postgres.freeze();
        const status = await (await fetch(`${nodes[0]!.server.operatorUrl}/status`)).json();
        expect(status).toMatchObject({ state: 'degraded', reason: expect.stringContaining('the database') });
        // Time itself is what is tested here.
        await pause(heavy ? 20_000 : 1_500);
        postgres.thaw();
        await eventually('the status to say that all is well', async () => {
          const now = await (await fetch(`${nodes[0]!.server.operatorUrl}/status`)).json();
          return (now as { state: string }).state === 'running';
        });
      }),
    180_000,
  );
});

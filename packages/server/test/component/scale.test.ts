import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.js';
import { dialect } from '../support/server-storage.js';

const FEW = 100;
const MANY = 100_000;
/** Loose: a plan that reads every row is some hundred times slower. */
const BOUND = 12;

let test: TestServer;
beforeAll(async () => {
  test = await startTestServer({ validateResponses: false });
});
afterAll(() => test[Symbol.asyncDispose]());

/** Rows of one kind, made by the database itself. */
async function fill(from: number, to: number): Promise<void> {
  const { db } = test.server.context;
  const { sql } = await import('kysely');
  const team = (await db.selectFrom('teams').select('id').executeTakeFirstOrThrow()).id;
  const start = Date.now() - 3_600_000;
  const numbers =
    dialect === 'postgres'
      ? sql`generate_series(${sql.lit(from)}::bigint, ${sql.lit(to - 1)}::bigint) as numbers(n)`
      : sql`(with recursive counted(n) as (select ${sql.lit(from)} union all select n + 1 from counted where n < ${sql.lit(to - 1)}) select n from counted) as numbers`;
  const at = sql`${sql.lit(start)} + numbers.n`;
  await sql`insert into sandboxes (id, team_id, template_id, build_id, execution_id, alias, state, view, version, node_id, instance_id, checkpoint_id, paused_memory, created_at, started_at, end_at, paused_at, timeout_seconds, cpu_count, memory_mb, disk_mb, envd_version, metadata, config, encrypted_secrets)
    select 'iflat' || numbers.n, ${sql.lit(team)}, 'template', 'build', 'execution', null, 'paused', 'paused', 1, ${sql.lit(test.server.context.config.nodeId)}, null, 'c', 1, ${at}, ${at}, ${at}, ${at}, 300, 2, 1024, 1024, '0.6.13', null, ${sql.lit('{"allowInternetAccess":null,"autoPause":false,"autoPauseMemory":true,"autoResume":false,"mounts":[],"defaultUser":null,"defaultWorkdir":null,"startCommand":null,"layers":[]}')}, null from ${numbers}`.execute(
    db,
  );
  // Of some hundred sandboxes: PostgreSQL keeps a lock for each whose events a transaction numbers, and has room for thousands.
  await sql`insert into events (id, team_id, sandbox_id, execution_id, template_id, build_id, type, at, data, dispatched)
    select 'e' || numbers.n, ${sql.lit(team)}, case when numbers.n % 2 = 0 then 'iflat0' else 'iflat' || numbers.n % 500 end, 'execution', 'template', 'build', 'sandbox.lifecycle.updated', ${at}, '{}', 1 from ${numbers}`.execute(
    db,
  );
  await sql`insert into sandbox_logs (sandbox_id, team_id, seq, at, level, message, fields)
    select 'iflat0', ${sql.lit(team)}, numbers.n, ${at}, 1, 'line', '{}' from ${numbers}`.execute(db);
  await sql.raw('analyze').execute(db);
}

/** The fastest of several answers, ms: what the machine does besides is not measured. */
async function timeOf(target: string, rows: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 15; round += 1) {
    const startedAt = performance.now();
    const answer = await test.api('GET', target);
    best = Math.min(best, performance.now() - startedAt);
    expect(answer.status).toBe(200);
    const items = Array.isArray(answer.body) ? answer.body : answer.body.logs;
    expect(items).toHaveLength(rows);
  }
  return best;
}

const targets: [string, string][] = [
  ['sandboxes, newest first', '/v2/sandboxes?limit=50'],
  ['sandboxes, oldest first', '/v2/sandboxes?limit=50&order=asc&state=paused'],
  ['logs, newest first', '/v2/sandboxes/iflat0/logs?limit=50'],
  ['logs, oldest first', '/v2/sandboxes/iflat0/logs?limit=50&direction=forward'],
  ['events of a team', '/events/sandboxes?limit=50'],
  ['events of a sandbox', '/events/sandboxes/iflat0?limit=50'],
];

describe('a page', () => {
  it(`costs the same out of ${FEW} rows and out of ${MANY}`, async () => {
    await fill(0, FEW);
    const before = new Map<string, number>();
    for (const [name, target] of targets) before.set(name, await timeOf(target, 50));
    await fill(FEW, MANY);
    const ratios: Record<string, string> = {};
    const slow: string[] = [];
    for (const [name, target] of targets) {
      const ratio = (await timeOf(target, 50)) / before.get(name)!;
      ratios[name] = ratio.toFixed(2);
      if (ratio > BOUND) slow.push(`${name}: ${ratio.toFixed(1)}`);
    }
    console.log(`${dialect}, ${FEW} -> ${MANY} rows, times as slow:`, ratios);
    expect(slow).toEqual([]);
  });
});

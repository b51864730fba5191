import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { forgetOld } from '../../src/process/retention.js';
import { compactMetrics } from '../../src/sandboxes/telemetry/compact-metrics.js';
import { toJson } from '../../src/storage/json.js';
import { openStorage } from '../../src/storage/open.js';
import { dropSchema, testStorage } from '../support/server-storage.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

async function open() {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-retention-'));
  const { storage, schema } = await testStorage();
  const opened = await openStorage(storage, dataDir);
  onTestFinished(async () => {
    await opened.db.destroy();
    await dropSchema(schema);
    await rm(dataDir, { recursive: true, force: true });
  });
  return opened;
}

type Opened = Awaited<ReturnType<typeof open>>;

const contextOf = ({ db, dialect }: Opened, now: number) => ({
  db,
  dialect,
  now: () => now,
  config: {
    logs: { retentionMs: WEEK },
    metrics: { retentionMs: WEEK },
    events: { retentionMs: WEEK },
    usage: { retentionMs: WEEK },
    audit: { retentionMs: WEEK },
    idempotency: { retentionMs: DAY },
  } as never,
});

/** Counts how often other work gets its turn until the promise settles. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let done = false;
  const tick = () => {
    turns += 1;
    if (!done) setImmediate(tick);
  };
  setImmediate(tick);
  await work;
  done = true;
  return turns;
}

function sample(id: string, at: number, share: number) {
  return {
    sandbox_id: id,
    team_id: 't',
    at,
    cpu_count: 2,
    cpu_used_pct: share,
    mem_used: 100,
    mem_total: 1_000,
    mem_cache: 10,
    disk_used: 5,
    disk_total: 50,
  };
}

it('samples become one a minute after an hour and one in ten minutes after a day, as means', async () => {
  const storage = await open();
  const now = 30 * DAY;
  for (const id of ['a', 'b'])
    for (const age of [30 * MINUTE, 2 * HOUR, 3 * DAY])
      for (let index = 0; index < 240; index += 24)
        await storage.db
          .insertInto('sandbox_metrics')
          .values(
            Array.from({ length: 24 }, (_, inner) =>
              sample(id, now - age + (index + inner) * 5_000, (index + inner) % 2 === 0 ? 20 : 40),
            ),
          )
          .execute();
  const context = contextOf(storage, now);
  await compactMetrics(context);
  const spans = async () =>
    Object.fromEntries(
      (
        await storage.db
          .selectFrom('sandbox_metrics')
          .select(({ fn }) => ['span_ms', fn.countAll().as('count'), fn.avg('cpu_used_pct').as('share')])
          .groupBy('span_ms')
          .execute()
      ).map((row) => [row.span_ms, [Number(row.count), Number(row.share)]]),
    );
  // 20 minutes of each age for two sandboxes.
  expect(await spans()).toEqual({
    0: [2 * 240, 30],
    [MINUTE]: [2 * 20, 30],
    [10 * MINUTE]: [2 * 2, 30],
  });
  await compactMetrics(context);
  expect(Object.keys(await spans())).toHaveLength(3);
  // The time is that of the last reading: a sample never stands for what came after it.
  const [first] = await storage.db
    .selectFrom('sandbox_metrics')
    .select('at')
    .where('span_ms', '=', MINUTE)
    .orderBy('at')
    .execute();
  expect(Number(first!.at)).toBe(now - 2 * HOUR + 55_000);
});

it('forgetting a lot lets other work through all the time', async () => {
  const storage = await open();
  const { db } = storage;
  const now = 30 * DAY;
  for (let at = 0; at < 6_000; at += 100)
    await db
      .insertInto('sandbox_logs')
      .values(
        Array.from({ length: 100 }, (_, index) => ({
          sandbox_id: 's',
          team_id: 't',
          seq: at + index,
          at: index === 99 ? now : at,
          level: 1,
          message: 'line',
          fields: toJson({}),
        })),
      )
      .execute();
  for (let at = 0; at < 3_000; at += 100) {
    const rows = Array.from({ length: 100 }, (_, index) => `${at + index}`);
    await db
      .insertInto('webhook_deliveries')
      .values(
        rows.map((id) => ({
          id,
          webhook_id: 'w',
          team_id: 't',
          event_seq: Number(id),
          event_id: id,
          event_type: 'x',
          sandbox_id: 's',
          status: 'success' as never,
          attempts: 1,
          next_attempt_at: 0,
          created_at: 0,
          updated_at: 0,
        })),
      )
      .execute();
  }
  const turns = await turnsDuring(forgetOld(contextOf(storage, now)));
  const count = async (table: string) =>
    Number((await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db)).rows[0]!.n);
  expect([await count('sandbox_logs'), await count('webhook_deliveries')]).toEqual([60, 0]);
  expect(turns).toBeGreaterThan(5_940 / 200 + 3_000 / 200 - 2);
});

import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COUNTS_AS_RUNNING, repairTeamRunning } from '../../src/sandboxes/change/repair-team-running.js';
import { migrate } from '../../src/storage/migrate.js';
import { migrations } from '../../src/storage/migrations/index.js';
import { openPostgres } from '../../src/storage/postgres.js';
import type { Database, SandboxRowState, Tx } from '../../src/storage/schema.js';
import { openSqlite } from '../../src/storage/sqlite.js';
import { sandboxRow } from '../support/sandbox-row.js';
import { createTestStorage, type Dialect, dialects, type TestStorage } from '../support/storage.js';

const STATES: SandboxRowState[] = [...COUNTS_AS_RUNNING, 'killing', 'paused'];
const TEAMS = ['one', 'two', 'three'];

/** Numbers from 0 to below `below`, the same in each run. */
function numbers(seed: string): (below: number) => number {
  let drawn = 0;
  return (below) => {
    drawn += 1;
    return createHash('sha256').update(`${seed} ${drawn}`).digest().readUInt32BE() % below;
  };
}

const insert = (
  db: Database | Tx,
  id: string,
  given: { team: string; state: SandboxRowState; memory: number },
) =>
  db
    .insertInto('sandboxes')
    .values(sandboxRow({ id, team_id: given.team, state: given.state, memory_mb: given.memory }))
    .execute();

const counters = async (db: Database) =>
  new Map(
    (await db.selectFrom('team_running').selectAll().execute())
      .filter(({ sandboxes, memory_mb }) => sandboxes !== 0 || memory_mb !== 0)
      .map((row) => [row.team_id, { sandboxes: row.sandboxes, memory: row.memory_mb }]),
  );

describe.each(dialects)('the counters of running sandboxes on %s', (dialect: Dialect) => {
  let stored: TestStorage;
  let db: Database;
  const warnings: object[] = [];
  const context = () => ({
    db,
    dialect,
    log: { warn: (fields: object) => warnings.push(fields) } as never,
  });
  beforeAll(async () => {
    stored = await createTestStorage(dialect);
    ({ db } = await stored.open());
  });
  afterAll(async () => {
    await db?.destroy();
    await stored?.remove();
  });

  it('follow every change of the rows, by any writer, and none that was rolled back', async () => {
    const draw = numbers('follow');
    const pick = <T>(list: readonly T[]) => list[draw(list.length)]!;
    const rows = new Map<string, { team: string; state: SandboxRowState; memory: number }>();
    for (let step = 0; step < 150; step += 1) {
      const changed = new Map(rows);
      const failed = new Error('rolled back');
      const rollBack = draw(4) === 0;
      await db
        .transaction()
        .execute(async (tx) => {
          for (let left = 1 + draw(3); left > 0; left -= 1) {
            const id = `s-${draw(12)}`;
            const known = changed.get(id);
            const row = { team: pick(TEAMS), state: pick(STATES), memory: 1 + draw(5) };
            if (known === undefined) {
              await insert(tx, id, row);
              changed.set(id, row);
            } else if (draw(3) === 0) {
              await tx.deleteFrom('sandboxes').where('id', '=', id).execute();
              changed.delete(id);
            } else {
              const next = draw(2) === 0 ? { ...known, state: row.state } : row;
              await tx
                .updateTable('sandboxes')
                .set({ team_id: next.team, state: next.state, memory_mb: next.memory })
                .where('id', '=', id)
                .execute();
              changed.set(id, next);
            }
          }
          if (rollBack) throw failed;
        })
        .catch((error: unknown) => {
          if (error !== failed) throw error;
        });
      if (!rollBack) {
        rows.clear();
        for (const [id, row] of changed) rows.set(id, row);
      }
      const expected = new Map<string, { sandboxes: number; memory: number }>();
      for (const { team, state, memory } of rows.values())
        if ((COUNTS_AS_RUNNING as readonly string[]).includes(state)) {
          const sum = expected.get(team) ?? { sandboxes: 0, memory: 0 };
          expected.set(team, { sandboxes: sum.sandboxes + 1, memory: sum.memory + memory });
        }
      expect(await counters(db), `step ${step}`).toEqual(expected);
    }
    expect(await repairTeamRunning(context())).toEqual([]);
  });

  it('are mended with a warning where they were changed past the triggers', async () => {
    const before = await counters(db);
    await db.insertInto('team_running').values({ team_id: 'nobody', sandboxes: 3, memory_mb: 0 }).execute();
    const [lost] = [...before.keys()];
    await db.deleteFrom('team_running').where('team_id', '=', lost!).execute();
    warnings.length = 0;
    expect(await repairTeamRunning(context())).toEqual(['nobody', lost].sort());
    expect(warnings).toContainEqual({
      teamId: 'nobody',
      before: { sandboxes: 3, memory_mb: 0 },
      after: { sandboxes: 0, memory_mb: 0 },
    });
    expect(warnings).toHaveLength(2);
    expect(await counters(db)).toEqual(before);
    expect(await repairTeamRunning(context())).toEqual([]);
  });

  it('begin with what a database of before runs', async () => {
    const old = await createTestStorage(dialect);
    const { options } = old;
    const before = migrations.findIndex(({ id }) => id.endsWith('team-running'));
    const oldDb =
      options.kind === 'postgres'
        ? await openPostgres(options.url, { schema: options.schema! })
        : openSqlite(`${old.dataDir}/server.db`);
    try {
      await migrate(oldDb, dialect, migrations.slice(0, before));
      for (const [index, state] of STATES.entries())
        await insert(oldDb, `s-${index}`, { team: TEAMS[index % 2]!, state, memory: 10 + index });
      await migrate(oldDb, dialect);
      expect(await counters(oldDb)).toEqual(
        new Map([
          ['one', { sandboxes: 3, memory: 36 }],
          ['two', { sandboxes: 2, memory: 24 }],
        ]),
      );
    } finally {
      await oldDb.destroy();
      await old.remove();
    }
  });
});

describe.skipIf(!dialects.includes('postgres'))('servers of two versions on one PostgreSQL', () => {
  it('keep the limit together: the old one counts rows under its lock, the new one reads the counter', async () => {
    const stored = await createTestStorage('postgres');
    const { db } = await stored.open();
    const LIMIT = 5;
    const team = { team: 'one', state: 'creating', memory: 1 } as const;
    class Full extends Error {}
    const running = async (tx: Tx) =>
      Number(
        (
          await tx
            .selectFrom('sandboxes')
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .where('state', '=', 'creating')
            .executeTakeFirstOrThrow()
        ).count,
      );
    const asBefore = (id: string) => async (tx: Tx) => {
      await sql`select pg_advisory_xact_lock(hashtext(${team.team}))`.execute(tx);
      if ((await running(tx)) >= LIMIT) throw new Full();
      await insert(tx, id, team);
    };
    const asNow = (id: string) => async (tx: Tx) => {
      await insert(tx, id, team);
      const { sandboxes } = await tx.selectFrom('team_running').selectAll().executeTakeFirstOrThrow();
      if (sandboxes > LIMIT) throw new Full();
    };
    try {
      for (let round = 0; round < 10; round += 1) {
        const made = await Promise.all(
          Array.from({ length: 16 }, (_, index) =>
            db
              .transaction()
              .execute((index % 2 === 0 ? asBefore : asNow)(`${round}-${index}`))
              .then(
                () => 1,
                (error: unknown) => {
                  if (error instanceof Full) return 0;
                  throw error;
                },
              ),
          ),
        );
        expect(made.reduce<number>((sum, one) => sum + one, 0)).toBe(LIMIT);
        await db.deleteFrom('sandboxes').execute();
        expect(await counters(db)).toEqual(new Map());
      }
    } finally {
      await db.destroy();
      await stored.remove();
    }
  });
});

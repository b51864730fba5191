import { sql } from 'kysely';
import type { SandboxRowState } from '../../storage/schema.js';
import type { Uses } from '../context.js';

/** States that count against the limits of a team: those that the triggers count. */
export const COUNTS_AS_RUNNING = [
  'creating',
  'running',
  'pausing',
  'snapshotting',
  'resuming',
] as const satisfies SandboxRowState[];

/**
 * Compares what `team_running` says of each team with its sandboxes. They differ only where somebody wrote past the triggers,
 * such as by a restore of single tables; then the count of the sandboxes is taken over, and the log warns.
 * @returns the teams that differed
 */
export async function repairTeamRunning(context: Uses<'db' | 'dialect' | 'log'>): Promise<string[]> {
  const differing = await differingTeams(context);
  for (const teamId of differing) await countAgain(context, teamId);
  return differing;
}

/** One statement sees one state of the database: in each of them, both agree. */
async function differingTeams({ db }: Uses<'db'>): Promise<string[]> {
  const { rows } = await sql<{ teamId: string }>`
    select team_id as "teamId" from (
      select team_id, sandboxes, memory_mb from team_running
      union all
      select team_id, -1, -memory_mb from sandboxes where state in (${sql.join(COUNTS_AS_RUNNING)})
    ) as both_ways
    group by team_id having sum(sandboxes) <> 0 or sum(memory_mb) <> 0 order by team_id`.execute(db);
  return rows.map(({ teamId }) => teamId);
}

async function countAgain(
  { db, dialect, log }: Uses<'db' | 'dialect' | 'log'>,
  teamId: string,
): Promise<void> {
  const found = await db.transaction().execute(async (tx) => {
    // In the order of the triggers: nobody adds, then nobody subtracts, until this is through.
    if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(hashtext(${teamId}))`.execute(tx);
    await tx
      .insertInto('team_running')
      .values({ team_id: teamId, sandboxes: 0, memory_mb: 0 })
      .onConflict((conflict) => conflict.column('team_id').doNothing())
      .execute();
    const before = await tx
      .selectFrom('team_running')
      .select(['sandboxes', 'memory_mb'])
      .where('team_id', '=', teamId)
      .$if(dialect === 'postgres', (query) => query.forUpdate())
      .executeTakeFirstOrThrow();
    const counted = await tx
      .selectFrom('sandboxes')
      .select(({ fn }) => [
        fn.countAll<number>().as('sandboxes'),
        fn.sum<number | null>('memory_mb').as('memory'),
      ])
      .where('team_id', '=', teamId)
      .where('state', 'in', [...COUNTS_AS_RUNNING])
      .executeTakeFirstOrThrow();
    const after = { sandboxes: Number(counted.sandboxes), memory_mb: Number(counted.memory ?? 0) };
    await tx.updateTable('team_running').set(after).where('team_id', '=', teamId).execute();
    return { before, after };
  });
  log.warn({ teamId, ...found }, 'the counter of running sandboxes of a team was wrong and was repaired');
}

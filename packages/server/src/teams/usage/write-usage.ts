import type { Selectable } from 'kysely';
import type { Database, SandboxesTable } from '../../storage/schema.js';
import type { UsageMeter } from './usage-meter.js';

type LiveRow = {
  deleted: boolean;
  row: Pick<Selectable<SandboxesTable>, 'id' | 'team_id' | 'memory_mb' | 'state'>;
};

/** Counts what runs until now, and adds what was counted to the rows of its hours. @throws what the database says; nothing is lost */
export async function writeUsage(context: {
  db: Database;
  sandboxes: { values(): Iterable<LiveRow> };
  usage: UsageMeter;
}): Promise<void> {
  const { db, usage } = context;
  const running = [...context.sandboxes.values()].filter(
    ({ row, deleted }) => !deleted && row.state !== 'paused' && row.state !== 'creating',
  );
  usage.look(running.map(({ row }) => ({ id: row.id, teamId: row.team_id, memoryMiB: row.memory_mb })));
  const hours = usage.take();
  for (const [index, hour] of hours.entries()) {
    try {
      await db
        .insertInto('team_usage')
        .values({
          team_id: hour.teamId,
          hour: hour.hourMs,
          sandbox_ms: hour.sandboxMs,
          memory_mib_ms: hour.memoryMibMs,
          egress_bytes: hour.egressBytes,
          creates: hour.creates,
        })
        .onConflict((conflict) =>
          conflict.columns(['team_id', 'hour']).doUpdateSet((build) => ({
            sandbox_ms: build('team_usage.sandbox_ms', '+', build.ref('excluded.sandbox_ms')),
            memory_mib_ms: build('team_usage.memory_mib_ms', '+', build.ref('excluded.memory_mib_ms')),
            egress_bytes: build('team_usage.egress_bytes', '+', build.ref('excluded.egress_bytes')),
            creates: build('team_usage.creates', '+', build.ref('excluded.creates')),
          })),
        )
        .execute();
    } catch (error) {
      usage.giveBack(hours.slice(index));
      throw error;
    }
  }
}

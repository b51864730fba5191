import type { operatorComponents } from '@svc/platform/operator';
import type { Selectable } from 'kysely';
import { isoTime } from '../api/wire/time.js';
import type { Database, TeamUsageTable } from '../storage/schema.js';
import type { Uses } from './context.js';
import { egressOfMonth, monthOf } from './quota/egress-month.js';
import { storageUse, totalOf } from './quota/storage-use.js';
import { teamRunning } from './quota/team-room.js';

/** The present use of a team's limits. */
interface TeamUse {
  sandboxes: number;
  memoryMiB: number;
  storageBytes: number;
  /** Bytes that left its sandboxes this month. */
  egressMonthBytes: number;
  secrets: number;
  webhooks: number;
}

/** Hours that one answer has at most: more than a year of them. */
const MOST_HOURS = 10_000;

export async function teamUse(
  context: Uses<'db' | 'driver' | 'now' | 'volumes'>,
  teamId: string,
): Promise<TeamUse> {
  const { db } = context;
  const [{ sandboxes, memoryMiB }, storage, egressMonthBytes, secrets, webhooks] = await Promise.all([
    teamRunning(db, teamId),
    storageUse(context, teamId),
    egressOfMonth(db, teamId, monthOf(context.now())),
    countOf(db, 'secrets', teamId),
    countOf(db, 'webhooks', teamId),
  ]);
  return {
    sandboxes,
    memoryMiB,
    storageBytes: totalOf(storage),
    egressMonthBytes,
    secrets,
    webhooks,
  };
}

async function countOf(db: Database, table: 'secrets' | 'webhooks', teamId: string): Promise<number> {
  const row = await db
    .selectFrom(table)
    .select((build) => build.fn.countAll<number>().as('count'))
    .where('team_id', '=', teamId)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** Returns the use of a team hour by hour, oldest first; hours without any use have no row. */
export function listUsage(
  { db }: Uses<'db'>,
  teamId: string,
  span: { fromMs: number; untilMs: number },
): Promise<Selectable<TeamUsageTable>[]> {
  return db
    .selectFrom('team_usage')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('hour', '>=', span.fromMs)
    .where('hour', '<', span.untilMs)
    .orderBy('hour')
    .limit(MOST_HOURS)
    .execute();
}

export function usageToWire(
  use: TeamUse,
  hours: readonly Selectable<TeamUsageTable>[],
): operatorComponents['schemas']['TeamUsage'] {
  return {
    use: {
      sandboxes: use.sandboxes,
      memoryMB: use.memoryMiB,
      storageMB: Math.ceil(use.storageBytes / 2 ** 20),
      egressMonthMB: Math.floor(use.egressMonthBytes / 2 ** 20),
      secrets: use.secrets,
      webhooks: use.webhooks,
    },
    hours: hours.map((row) => ({
      hour: isoTime(row.hour),
      sandboxSeconds: Math.round(row.sandbox_ms / 1000),
      memoryMBSeconds: Math.round(row.memory_mib_ms / 1000),
      egressBytes: row.egress_bytes,
      creates: row.creates,
    })),
  };
}

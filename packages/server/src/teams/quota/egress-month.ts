import type { Team } from '../../api/auth/team-store.js';
import { errors } from '../../api/errors/catalog.js';
import { isoTime } from '../../api/wire/time.js';
import type { Database } from '../../storage/schema.js';
import type { Uses } from '../context.js';

const MIB = 2 ** 20;

/** A month of the calendar, in UTC. */
export interface Month {
  /** Such as `2026-11`. */
  name: string;
  fromMs: number;
  untilMs: number;
}

/** The month that a time is in. Pure. */
export function monthOf(atMs: number): Month {
  const at = new Date(atMs);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  const fromMs = Date.UTC(year, month);
  return { name: isoTime(fromMs).slice(0, 7), fromMs, untilMs: Date.UTC(year, month + 1) };
}

/** Bytes that left sandboxes of a team in a month, as far as its hours are written. */
export async function egressOfMonth(db: Database, teamId: string, month: Month): Promise<number> {
  const row = await db
    .selectFrom('team_usage')
    .select((build) => build.fn.sum<number | null>('egress_bytes').as('bytes'))
    .where('team_id', '=', teamId)
    .where('hour', '>=', month.fromMs)
    .where('hour', '<', month.untilMs)
    .executeTakeFirst();
  return Number(row?.bytes ?? 0);
}

/** Returns whether a team sent as much this month as it may. */
export async function egressIsUsed(
  context: Uses<'db' | 'now'>,
  team: Pick<Team, 'id' | 'limits'>,
): Promise<boolean> {
  return (await usedOf(context, team)) !== undefined;
}

/**
 * Refuses when the team sent as much this month as it may. Looked at before something is begun.
 * @throws {ApiError} 429
 */
export async function assertTeamEgress(context: Uses<'db' | 'now'>, team: Team): Promise<void> {
  const used = await usedOf(context, team);
  if (used !== undefined) throw errors.teamEgressUsed(used);
}

async function usedOf({ db, now }: Uses<'db' | 'now'>, { id, limits }: Pick<Team, 'id' | 'limits'>) {
  const limitMiB = limits.maxEgressMonthMiB;
  if (limitMiB === undefined) return undefined;
  const month = monthOf(now());
  const bytes = await egressOfMonth(db, id, month);
  if (bytes < limitMiB * MIB) return undefined;
  return { usedMiB: Math.floor(bytes / MIB), limitMiB, month: month.name, until: isoTime(month.untilMs) };
}

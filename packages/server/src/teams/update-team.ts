import type { TeamFlags } from '../config/team-limits.js';
import { fromJson, toJson } from '../storage/json.js';
import type { Uses } from './context.js';
import { findTeam, type TeamRow } from './find-team.js';
import { changeFlags, changeLimits, type LimitsChange } from './settings.js';

export interface TeamChange {
  name?: string | undefined;
  limits?: LimitsChange | undefined;
  flags?: Partial<TeamFlags> | undefined;
  banned?: boolean | undefined;
  blocked?: boolean | undefined;
  blockedReason?: string | null | undefined;
}

/** Changes what is given, in force at once. Sandboxes that run go on. @throws {ApiError} 404 */
export async function updateTeam(
  context: Uses<'db' | 'dialect' | 'teams'>,
  idOrSlug: string,
  change: TeamChange,
): Promise<TeamRow> {
  const changed = await context.db.transaction().execute(async (db) => {
    // SQLite has one writer at a time; elsewhere two changes at once would undo one another.
    const row = await findTeam({ db }, idOrSlug, { lock: context.dialect === 'postgres' });
    const next = apply(row, change);
    await db.updateTable('teams').set(next).where('id', '=', row.id).execute();
    return { ...row, ...next };
  });
  context.teams.invalidate();
  return changed;
}

function apply(row: TeamRow, change: TeamChange): Omit<TeamRow, 'id' | 'slug' | 'created_at'> {
  const { name = row.name, limits = {}, flags = {}, banned = row.banned === 1 } = change;
  const { blocked = row.blocked === 1, blockedReason = row.blocked_reason } = change;
  return {
    name,
    limits: toJson(changeLimits(fromJson(row.limits), limits)),
    flags: toJson(changeFlags(fromJson(row.flags), flags)),
    banned: Number(banned),
    blocked: Number(blocked),
    blocked_reason: blocked ? blockedReason : null,
  };
}

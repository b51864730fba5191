import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { TeamFlags } from '../config/team-limits.js';
import { toJson } from '../storage/json.js';
import { isUniqueViolation } from '../storage/unique-violation.js';
import type { Uses } from './context.js';
import type { TeamRow } from './find-team.js';
import { changeFlags, changeLimits, type LimitsChange } from './settings.js';

export interface NewTeam {
  slug: string;
  name?: string | undefined;
  limits?: LimitsChange | undefined;
  flags?: Partial<TeamFlags> | undefined;
}

/** Makes a team without a key. @throws {ApiError} 400, 409 when the slug is taken */
export async function createTeam(context: Uses<'db' | 'ids' | 'now'>, team: NewTeam): Promise<TeamRow> {
  // Teams are named by id or slug: one must not pass for the other.
  if (isUuid(team.slug)) throw errors.validation('body.slug must not look like an identifier');
  const row: TeamRow = {
    id: context.ids.uuid(),
    slug: team.slug,
    name: team.name ?? team.slug,
    limits: toJson(changeLimits({}, team.limits ?? {})),
    flags: toJson(changeFlags({}, team.flags ?? {})),
    banned: 0,
    blocked: 0,
    blocked_reason: null,
    created_at: context.now(),
  };
  try {
    await context.db.insertInto('teams').values(row).execute();
  } catch (error) {
    if (isUniqueViolation(error)) throw errors.teamSlugTaken(team.slug);
    throw error;
  }
  return row;
}

import type { Selectable } from 'kysely';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import { cutPage, decodeNextToken, type Page } from '../api/wire/next-token.js';
import type { TeamFlags, TeamLimits } from '../config/team-limits.js';
import { isUniqueViolation } from '../storage/database-errors.js';
import { fromJson, toJson } from '../storage/json.js';
import type { TeamsTable } from '../storage/schema.js';
import type { Uses } from './context.js';

interface NewTeam {
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

/** A change of limits: a number sets one for the team, null goes back to the server's default, absent keeps it. */
export type LimitsChange = { [Name in keyof TeamLimits]?: number | null | undefined };

/** Returns the own limits of a team after a change. Pure. */
function changeLimits(own: Partial<TeamLimits>, change: LimitsChange): Partial<TeamLimits> {
  const changed = Object.entries({ ...own, ...withoutUndefined(change) });
  return Object.fromEntries(changed.filter(([, value]) => value !== null));
}

/** The flags of a team after a change. Pure. */
function changeFlags(
  own: Partial<TeamFlags>,
  change: { [Name in keyof TeamFlags]?: boolean | undefined },
): Partial<TeamFlags> {
  return { ...own, ...withoutUndefined(change) };
}

function withoutUndefined<T extends object>(value: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}

export type TeamRow = Selectable<TeamsTable>;

/**
 * Finds a team by its id or its slug.
 * @param options `lock`: keep others from changing the row until the transaction ends (PostgreSQL).
 * @throws {ApiError} 404
 */
export async function findTeam(
  context: Uses<'db'>,
  idOrSlug: string,
  options: { lock?: boolean } = {},
): Promise<TeamRow> {
  const row = await context.db
    .selectFrom('teams')
    .selectAll()
    .where(isUuid(idOrSlug) ? 'id' : 'slug', '=', idOrSlug.toLowerCase())
    .$if(options.lock === true, (query) => query.forUpdate())
    .executeTakeFirst();
  if (row === undefined) throw errors.teamNotFound(idOrSlug);
  return row;
}

/** A page of all teams, oldest first. @throws {ApiError} 400 for a cursor that cannot be read */
export async function listTeams(
  context: Uses<'db'>,
  options: { limit: number; nextToken?: string | undefined },
): Promise<Page<TeamRow>> {
  const after = decodeNextToken(options.nextToken, 'asc');
  const rows = await context.db
    .selectFrom('teams')
    .selectAll()
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), '>', tuple(after!.atMs, after!.id)),
      ),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(options.limit + 1)
    .execute();
  return cutPage(rows, options.limit, (row) => ({ atMs: row.created_at, id: row.id }), 'asc');
}

interface TeamChange {
  name?: string | undefined;
  limits?: LimitsChange | undefined;
  flags?: Partial<TeamFlags> | undefined;
  banned?: boolean | undefined;
  blocked?: boolean | undefined;
  blockedReason?: string | null | undefined;
}

/** Changes the given members, in force at once. Running sandboxes continue. @throws {ApiError} 404 */
export async function updateTeam(
  context: Uses<'db' | 'dialect' | 'teams'>,
  idOrSlug: string,
  change: TeamChange,
): Promise<TeamRow> {
  const changed = await context.db.transaction().execute(async (db) => {
    // SQLite has one writer at a time; on PostgreSQL two changes at once would undo one another.
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

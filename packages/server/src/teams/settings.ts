import type { TeamFlags, TeamLimits } from '../config/team-limits.js';

/** A change of limits: a number sets one for the team, null goes back to the server's default, absent keeps it. */
export type LimitsChange = { [Name in keyof TeamLimits]?: number | null | undefined };

/** What a team's record holds of its own, after a change. Pure. */
export function changeLimits(own: Partial<TeamLimits>, change: LimitsChange): Partial<TeamLimits> {
  const changed = Object.entries({ ...own, ...withoutUndefined(change) });
  return Object.fromEntries(changed.filter(([, value]) => value !== null));
}

/** The flags of a team after a change. Pure. */
export function changeFlags(
  own: Partial<TeamFlags>,
  change: { [Name in keyof TeamFlags]?: boolean | undefined },
): Partial<TeamFlags> {
  return { ...own, ...withoutUndefined(change) };
}

function withoutUndefined<T extends object>(value: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}

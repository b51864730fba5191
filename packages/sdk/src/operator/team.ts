import type { Team } from '../team/team.js';

/** A team as its operator sees it. */
export interface OperatedTeam extends Team {
  /** Which limits were set for this team; the others are the server's defaults. */
  readonly ownLimits: (keyof OperatedTeam['limits'])[];
  /** Every request of a banned team is refused. */
  readonly banned: boolean;
  /** A blocked team may read and delete; the rest is refused. */
  readonly blocked: boolean;
  /** Reason that a blocked team is shown, if any. */
  readonly blockedReason: string | undefined;
}

/** Limits to set: a number sets one, null goes back to the server's default, absent keeps it. */
export type TeamLimitsChange = { [Name in keyof OperatedTeam['limits']]?: number | null | undefined };

/** A team to make. */
export interface NewTeam {
  /** Namespace of its templates: 1 to 63 lower-case letters, digits and `-`, no `-` first or last. Unique, and stays. */
  slug: string;
  /** For people, 1 to 128 characters. Default: the slug. */
  name?: string | undefined;
  /** Default: the server's. */
  limits?: TeamLimitsChange | undefined;
  features?: Partial<Team['features']> | undefined;
}

/** Changes to a team. Fields that are left out keep their values. */
export type TeamChange = Omit<NewTeam, 'slug'>;

import type { TeamFlags, TeamLimits } from '../../config/team-limits.js';

export interface Team {
  id: string;
  slug: string;
  name: string;
  limits: TeamLimits;
  flags: TeamFlags;
  banned: boolean;
  blocked: boolean;
  blockedReason: string | null;
  createdAtMs: number;
}

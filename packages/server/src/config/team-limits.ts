import type { Resolved } from './setting.js';
import type { settings } from './settings.js';

/** The limits of a team. */
export interface TeamLimits extends Resolved<typeof settings.teamLimits> {}

export interface TeamFlags {
  egressProxy: boolean;
}

import type { Resolved } from './setting.js';
import type { settings } from './settings.js';

/** What a team may use. */
export interface TeamLimits extends Resolved<typeof settings.teamLimits> {}

export interface TeamFlags {
  egressProxy: boolean;
}

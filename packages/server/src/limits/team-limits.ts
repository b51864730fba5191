import type { Resolved } from '../config/setting.js';
import type { settings } from '../config/settings.js';

/** What a team may use. */
export interface TeamLimits extends Resolved<typeof settings.teamLimits> {}

export interface TeamFlags {
  egressProxy: boolean;
}

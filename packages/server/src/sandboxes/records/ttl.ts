import { errors } from '../../api/errors/catalog.js';
import type { TeamLimits } from '../../config/team-limits.js';

/**
 * Checks a requested time to live, in seconds. The one rule of every operation that takes one: more than the team may use
 * is refused; a run that was extended ends at its longest all the same (`endFromNow`).
 * @throws {ApiError} 400
 */
export function checkTimeout(seconds: number, limits: TeamLimits): number {
  if (seconds > limits.maxTimeToLiveSeconds) throw errors.timeoutTooLong(limits.maxTimeToLiveSeconds);
  return seconds;
}

/** When a run ends that shall last `seconds` from now, no later than the plan allows. */
export function endFromNow(seconds: number, nowMs: number, startedAtMs: number, limits: TeamLimits): number {
  return Math.min(nowMs + seconds * 1000, startedAtMs + limits.maxTimeToLiveSeconds * 1000);
}

import { errors } from '../errors/catalog.js';
import type { TeamLimits } from '../teams/team.js';

/** Checks a requested time to live, in seconds. @throws {ApiError} 400 */
export function checkTimeout(seconds: number, limits: TeamLimits): number {
  if (seconds > limits.maxTimeToLiveSeconds) throw errors.timeoutTooLong(limits.maxTimeToLiveSeconds);
  return seconds;
}

/** When a run ends that shall last `seconds` from now, no later than the plan allows. */
export function endFromNow(seconds: number, nowMs: number, startedAtMs: number, limits: TeamLimits): number {
  return Math.min(nowMs + seconds * 1000, startedAtMs + limits.maxTimeToLiveSeconds * 1000);
}

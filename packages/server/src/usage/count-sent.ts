import type { LiveSandboxes } from '../sandbox-state/live.js';
import type { UsageMeter } from './usage-meter.js';

/** Counts bytes that left a sandbox or a build, also of one that ended lately. Of others nobody knows whose they are. */
export function countSent(
  { sandboxes, usage }: { sandboxes: LiveSandboxes; usage: UsageMeter },
  sandboxId: string,
  bytes: number,
): void {
  const teamId = sandboxes.get(sandboxId)?.row.team_id ?? usage.teamOf(sandboxId);
  if (teamId !== undefined) usage.sent(teamId, bytes);
}

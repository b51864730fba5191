import type { UsageMeter } from '../../teams/usage/usage-meter.js';
import type { LiveSandboxes } from '../state/live.js';

/** Counts bytes that left a sandbox or a build, also of one that ended lately. Of others nobody knows whose they are. */
export function countSent(
  { sandboxes, usage }: { sandboxes: LiveSandboxes; usage: UsageMeter },
  sandboxId: string,
  bytes: number,
): void {
  const teamId = sandboxes.get(sandboxId)?.row.team_id ?? usage.teamOf(sandboxId);
  if (teamId !== undefined) usage.sent(teamId, bytes);
}

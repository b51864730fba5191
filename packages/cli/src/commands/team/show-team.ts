import type { OperatedTeam } from '@svc/sdk/operator';
import type { Cli } from '../../cli/cli.js';
import { formatDuration } from '../../output/format.js';

/** How a team stands, in a word. Pure. */
export function standingOf({ banned, blocked, blockedReason }: OperatedTeam): string {
  if (banned) return 'banned';
  if (!blocked) return 'active';
  return blockedReason === undefined ? 'blocked' : `blocked: ${blockedReason}`;
}

/** Prints one team. A limit that is its own is marked. */
export function showTeam(cli: Cli, team: OperatedTeam): void {
  const { limits } = team;
  const mark = (name: keyof typeof limits, text: string | number) =>
    team.ownLimits.includes(name) ? `${text} (own)` : `${text}`;
  cli.out.fields(team, {
    Slug: team.slug,
    Name: team.name,
    Id: team.teamId,
    Standing: standingOf(team),
    'Longest run': mark('maxTimeoutMs', formatDuration(limits.maxTimeoutMs)),
    Sandboxes: mark('maxConcurrentSandboxes', limits.maxConcurrentSandboxes),
    Builds: mark('maxConcurrentBuilds', limits.maxConcurrentBuilds),
    Cores: mark('maxCpuCount', limits.maxCpuCount),
    Memory: mark('maxMemoryMiB', `${limits.maxMemoryMiB} MiB`),
    Secrets: mark('maxSecrets', limits.maxSecrets),
    Webhooks: mark('maxWebhooks', limits.maxWebhooks),
    'Egress proxy': team.features.egressProxy ? 'on' : 'off',
  });
}

import type { OperatedTeam, TeamUse } from '@svc/sdk/operator';
import type { Cli } from '../../cli/cli.js';
import { formatDuration } from '../../output/format.js';

/** How a team stands, in a word. Pure. */
export function standingOf({ banned, blocked, blockedReason }: OperatedTeam): string {
  if (banned) return 'banned';
  if (!blocked) return 'active';
  return blockedReason === undefined ? 'blocked' : `blocked: ${blockedReason}`;
}

/** Prints one team, with what it takes where that is known. A limit that is its own is marked. */
export function showTeam(cli: Cli, team: OperatedTeam, use?: TeamUse): void {
  const { limits } = team;
  const mark = (name: keyof typeof limits, text: string | number) =>
    team.ownLimits.includes(name) ? `${text} (own)` : `${text}`;
  const taken = (amount: number | undefined, limit: string | number) =>
    amount === undefined ? limit : `${amount} of ${limit}`;
  cli.out.fields(use === undefined ? team : { ...team, use }, {
    Slug: team.slug,
    Name: team.name,
    Id: team.teamId,
    Standing: standingOf(team),
    'Longest run': mark('maxTimeoutMs', formatDuration(limits.maxTimeoutMs)),
    Sandboxes: mark('maxConcurrentSandboxes', taken(use?.sandboxes, limits.maxConcurrentSandboxes)),
    Builds: mark('maxConcurrentBuilds', limits.maxConcurrentBuilds),
    Cores: mark('maxCpuCount', limits.maxCpuCount),
    Memory: mark('maxMemoryMiB', `${limits.maxMemoryMiB} MiB each`),
    'Memory in all': mark('maxTotalMemoryMiB', ofLimit(limits.maxTotalMemoryMiB, use?.memoryMiB)),
    Storage:
      limits.maxStorageMiB === undefined
        ? undefined
        : mark('maxStorageMiB', `${taken(use?.storageMiB, limits.maxStorageMiB)} MiB`),
    Volumes:
      limits.maxVolumeMiB === undefined ? undefined : mark('maxVolumeMiB', `${limits.maxVolumeMiB} MiB each`),
    'Egress this month': mark('maxEgressMonthMiB', ofLimit(limits.maxEgressMonthMiB, use?.egressMonthMiB)),
    Secrets: mark('maxSecrets', taken(use?.secrets, limits.maxSecrets)),
    Webhooks: mark('maxWebhooks', taken(use?.webhooks, limits.maxWebhooks)),
    'Egress proxy': team.features.egressProxy ? 'on' : 'off',
  });
}

function ofLimit(limitMiB: number | undefined, usedMiB: number | undefined): string {
  const limit = limitMiB === undefined ? 'no limit' : `${limitMiB} MiB`;
  if (usedMiB === undefined) return limit;
  return limitMiB === undefined ? `${usedMiB} MiB, ${limit}` : `${usedMiB} of ${limit}`;
}

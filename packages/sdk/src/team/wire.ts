import type { SuccessOf } from '@svc/platform';
import type { Team } from './team.js';

/** The team with its limits. */
export function fromTeam(team: SuccessOf<'getTeam'>): Team {
  return {
    teamId: team.teamID,
    name: team.name,
    slug: team.slug,
    createdAt: new Date(team.createdAt),
    limits: fromLimits(team.limits),
    features: { egressProxy: team.features.egressProxy },
  };
}

/** Returns the limits of a team. */
function fromLimits(limits: SuccessOf<'getTeam'>['limits']): Team['limits'] {
  return {
    maxTimeoutMs: limits.maxTimeToLiveSeconds * 1000,
    maxConcurrentSandboxes: limits.maxConcurrentSandboxes,
    maxConcurrentBuilds: limits.maxConcurrentBuilds,
    maxCpuCount: limits.maxCpuCount,
    maxMemoryMiB: limits.maxMemoryMB,
    ...(limits.maxTotalMemoryMB === undefined ? {} : { maxTotalMemoryMiB: limits.maxTotalMemoryMB }),
    ...(limits.maxStorageMB === undefined ? {} : { maxStorageMiB: limits.maxStorageMB }),
    ...(limits.maxVolumeMB === undefined ? {} : { maxVolumeMiB: limits.maxVolumeMB }),
    ...(limits.maxEgressMonthMB === undefined ? {} : { maxEgressMonthMiB: limits.maxEgressMonthMB }),
    maxSecrets: limits.maxSecrets,
    maxWebhooks: limits.maxWebhooks,
  };
}

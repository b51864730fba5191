import type { SuccessOf } from '@svc/platform';
import type { Team } from './team.js';

export function fromTeam(team: SuccessOf<'getTeam'>): Team {
  const { limits } = team;
  return {
    teamId: team.teamID,
    name: team.name,
    slug: team.slug,
    createdAt: new Date(team.createdAt),
    limits: {
      maxTimeoutMs: limits.maxTimeToLiveSeconds * 1000,
      maxConcurrentSandboxes: limits.maxConcurrentSandboxes,
      maxConcurrentBuilds: limits.maxConcurrentBuilds,
      maxCpuCount: limits.maxCpuCount,
      maxMemoryMiB: limits.maxMemoryMB,
      maxSecrets: limits.maxSecrets,
      maxWebhooks: limits.maxWebhooks,
    },
    features: { egressProxy: team.features.egressProxy },
  };
}

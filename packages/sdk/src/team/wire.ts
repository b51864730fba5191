import type { SuccessOf, ApiKey as WireApiKey, CreatedApiKey as WireCreatedApiKey } from '@svc/platform';
import type { ApiKey, CreatedApiKey } from './api-key.js';
import type { Team } from './team.js';

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

/** What a team may use. */
export function fromLimits(limits: SuccessOf<'getTeam'>['limits']): Team['limits'] {
  return {
    maxTimeoutMs: limits.maxTimeToLiveSeconds * 1000,
    maxConcurrentSandboxes: limits.maxConcurrentSandboxes,
    maxConcurrentBuilds: limits.maxConcurrentBuilds,
    maxCpuCount: limits.maxCpuCount,
    maxMemoryMiB: limits.maxMemoryMB,
    maxSecrets: limits.maxSecrets,
    maxWebhooks: limits.maxWebhooks,
  };
}

/** A key as lists show it. */
export function fromApiKey(key: WireApiKey): ApiKey {
  const { prefix, maskedValuePrefix, maskedValueSuffix } = key.mask;
  return {
    apiKeyId: key.id,
    name: key.name,
    masked: `${prefix}${maskedValuePrefix}...${maskedValueSuffix}`,
    createdAt: new Date(key.createdAt),
    lastUsedAt: key.lastUsed === null ? undefined : new Date(key.lastUsed),
  };
}

/** A key that was just made. */
export function fromCreatedApiKey(key: WireCreatedApiKey): CreatedApiKey {
  return { ...fromApiKey(key), key: key.key };
}

import type { components } from '@svc/platform';
import type { Selectable } from 'kysely';
import type { ApiKeyMask } from '../auth/api-key.js';
import type { ApiKeysTable } from '../storage/schema.js';
import { isoTime } from '../wire/time.js';
import type { Team } from './team.js';

export function teamToWire(team: Team): components['schemas']['Team'] {
  const { limits } = team;
  return {
    teamID: team.id,
    name: team.name,
    slug: team.slug,
    createdAt: isoTime(team.createdAtMs),
    limits: {
      maxTimeToLiveSeconds: limits.maxTimeToLiveSeconds,
      maxConcurrentSandboxes: limits.maxConcurrentSandboxes,
      maxConcurrentBuilds: limits.maxConcurrentBuilds,
      maxCpuCount: limits.maxCpuCount,
      maxMemoryMB: limits.maxMemoryMiB,
      maxSecrets: limits.maxSecrets,
      maxWebhooks: limits.maxWebhooks,
    },
    features: { egressProxy: team.flags.egressProxy },
  };
}

export function apiKeyToWire(row: Selectable<ApiKeysTable>): components['schemas']['ApiKey'] {
  return {
    id: row.id,
    name: row.name,
    mask: JSON.parse(row.mask) as ApiKeyMask,
    createdAt: isoTime(row.created_at),
    lastUsed: row.last_used_at === null ? null : isoTime(row.last_used_at),
  };
}

import type { components } from '@svc/platform';
import type { operatorComponents } from '@svc/platform/operator';
import type { Team } from '../api/auth/team-store.js';
import { isoTime } from '../api/wire/time.js';
import type { TeamFlags, TeamLimits } from '../config/team-limits.js';
import { fromJson } from '../storage/json.js';
import type { LimitsChange, TeamRow } from './records.js';

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
      ...(limits.maxTotalMemoryMiB === undefined ? {} : { maxTotalMemoryMB: limits.maxTotalMemoryMiB }),
      maxStorageMB: limits.maxStorageMiB,
      maxVolumeMB: limits.maxVolumeMiB,
      ...(limits.maxEgressMonthMiB === undefined ? {} : { maxEgressMonthMB: limits.maxEgressMonthMiB }),
      maxSecrets: limits.maxSecrets,
      maxWebhooks: limits.maxWebhooks,
    },
    features: { egressProxy: team.flags.egressProxy },
  };
}

/** Renders a team for the operator: also its standing, and which limits are its own. */
export function operatorTeamToWire(row: TeamRow, team: Team): operatorComponents['schemas']['Team'] {
  const own = Object.keys(fromJson(row.limits)) as (keyof TeamLimits)[];
  return {
    ...teamToWire(team),
    ownLimits: own.map((name) => name.replace(/MiB$/, 'MB')),
    banned: team.banned,
    blocked: team.blocked,
    blockedReason: team.blockedReason,
  };
}

/** Limits and flags of a request of the operator; what the service does not know is left out. */
export function settingsFromWire(
  settings: Pick<operatorComponents['schemas']['TeamChange'], 'limits' | 'features'>,
): { limits: LimitsChange; flags: Partial<TeamFlags> } {
  const { limits = {}, features = {} } = settings;
  const {
    maxMemoryMB: maxMemoryMiB,
    maxTotalMemoryMB: maxTotalMemoryMiB,
    maxStorageMB: maxStorageMiB,
    maxVolumeMB: maxVolumeMiB,
    maxEgressMonthMB: maxEgressMonthMiB,
    ...rest
  } = limits;
  const { maxTimeToLiveSeconds, maxConcurrentSandboxes, maxConcurrentBuilds } = rest;
  const { maxCpuCount, maxSecrets, maxWebhooks } = rest;
  const counts = { maxConcurrentSandboxes, maxConcurrentBuilds, maxCpuCount, maxSecrets, maxWebhooks };
  const { egressProxy } = features;
  return {
    limits: {
      maxTimeToLiveSeconds,
      maxMemoryMiB,
      maxTotalMemoryMiB,
      maxStorageMiB,
      maxVolumeMiB,
      maxEgressMonthMiB,
      ...counts,
    },
    flags: egressProxy === undefined ? {} : { egressProxy },
  };
}

import type {
  AuditEntry as WireAuditEntry,
  TeamLimitsChange as WireLimits,
  Node as WireNode,
  NodeReport as WireNodeReport,
  Team as WireTeam,
  TeamChange as WireTeamChange,
  TeamUsage as WireTeamUsage,
} from '@svc/platform/operator';
import { defined, toSeconds } from '../core/wire-values.js';
import { fromTeam } from '../team/wire.js';
import type { AuditEntry } from './audit-entry.js';
import type { NodeReport, OperatedNode } from './node.js';
import type { OperatedTeam, TeamChange, TeamLimitsChange } from './team.js';
import type { TeamUsage } from './team-usage.js';

export function fromOperatedTeam(team: WireTeam): OperatedTeam {
  const names: Record<string, keyof OperatedTeam['limits']> = {
    maxTimeToLiveSeconds: 'maxTimeoutMs',
    maxMemoryMB: 'maxMemoryMiB',
    maxTotalMemoryMB: 'maxTotalMemoryMiB',
    maxStorageMB: 'maxStorageMiB',
    maxVolumeMB: 'maxVolumeMiB',
    maxEgressMonthMB: 'maxEgressMonthMiB',
  };
  return {
    ...fromTeam(team),
    ownLimits: team.ownLimits.map((name) => names[name] ?? (name as keyof OperatedTeam['limits'])),
    banned: team.banned,
    blocked: team.blocked,
    blockedReason: team.blockedReason ?? undefined,
  };
}

/** Returns the part that new teams and changes have in common. */
export function toTeamSettings({ name, limits, features }: TeamChange): WireTeamChange {
  return defined({
    name,
    limits: limits && toLimits(limits),
    features: features && defined(features),
  });
}

function toLimits({
  maxTimeoutMs,
  maxMemoryMiB,
  maxTotalMemoryMiB,
  maxStorageMiB,
  maxVolumeMiB,
  maxEgressMonthMiB,
  ...rest
}: TeamLimitsChange): WireLimits {
  const seconds = typeof maxTimeoutMs === 'number' ? toSeconds(maxTimeoutMs, 'maxTimeoutMs') : maxTimeoutMs;
  return defined({
    ...rest,
    maxTimeToLiveSeconds: seconds,
    maxMemoryMB: maxMemoryMiB,
    maxTotalMemoryMB: maxTotalMemoryMiB,
    maxStorageMB: maxStorageMiB,
    maxVolumeMB: maxVolumeMiB,
    maxEgressMonthMB: maxEgressMonthMiB,
  });
}

export function fromAuditEntry({ id, at, teamID, requestID, nodeID, ...entry }: WireAuditEntry): AuditEntry {
  return {
    entryId: id,
    at: new Date(at),
    ...entry,
    ...(teamID === undefined ? {} : { teamId: teamID }),
    ...(requestID === undefined ? {} : { requestId: requestID }),
    nodeId: nodeID,
  };
}

export function fromNode({ nodeID, lastSeenSeconds, moving, report, ...node }: WireNode): OperatedNode {
  return {
    ...node,
    nodeId: nodeID,
    lastSeenMs: lastSeenSeconds === null ? undefined : lastSeenSeconds * 1000,
    moving: moving ?? undefined,
    report: report === null ? undefined : fromReport(report),
  };
}

function fromReport({ memoryFreeMB, memoryTotalMB, diskFreeMB, ...rest }: WireNodeReport): NodeReport {
  return { ...rest, memoryFreeMiB: memoryFreeMB, memoryTotalMiB: memoryTotalMB, diskFreeMiB: diskFreeMB };
}

export function fromTeamUsage({ use, hours }: WireTeamUsage): TeamUsage {
  return {
    use: {
      sandboxes: use.sandboxes,
      memoryMiB: use.memoryMB,
      storageMiB: use.storageMB,
      egressMonthMiB: use.egressMonthMB,
      secrets: use.secrets,
      webhooks: use.webhooks,
    },
    hours: hours.map(({ hour, memoryMBSeconds, ...row }) => ({
      ...row,
      hour: new Date(hour),
      memoryGiBSeconds: memoryMBSeconds / 1024,
    })),
  };
}

// `@svc/sdk/operator`: for who runs a server. Separate from the rest, so that applications do not carry it.

export type { ApiKey, CreatedApiKey } from './api-keys/api-key.js';
export type { AuditEntry, AuditFilter, AuditOutcome } from './operator/audit-entry.js';
export { AuditTrail } from './operator/audit-trail.js';
export type {
  ForgottenNode,
  NodeMoving,
  NodeReport,
  OperatedNode,
  StayingObject,
} from './operator/node.js';
export { Nodes } from './operator/nodes.js';
export { OperatorClient } from './operator/operator-client.js';
export type { OperatorClientOptions } from './operator/options.js';
export type { NewTeam, OperatedTeam, TeamChange, TeamLimitsChange } from './operator/team.js';
export { TeamKeys } from './operator/team-keys.js';
export type { TeamUsage, TeamUsageHour, TeamUse } from './operator/team-usage.js';
export { Teams } from './operator/teams.js';
export type { Team } from './team/team.js';

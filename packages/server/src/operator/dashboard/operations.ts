import type { OperationId, OperatorOperationId } from '../../api/operations.js';

/**
 * What the dashboard may do for a team. Nothing that makes a credential, or shows one, is among it: who has taken over a session
 * must not get away with a key.
 */
export const platformOperations: ReadonlySet<OperationId> = new Set([
  'connectSandboxV2',
  'forkSandbox',
  'getSandbox',
  'getSandboxEgress',
  'getSandboxLogsV2',
  'getSandboxMetrics',
  'getTeam',
  'getTemplate',
  'getTemplateBuildLogs',
  'getTemplateBuildStatus',
  'getWebhook',
  'getWebhookStats',
  'killSandbox',
  'listSandboxEvents',
  'listSandboxesMetrics',
  'listSandboxesV2',
  'listEvents',
  'listSecrets',
  'listSnapshots',
  'listTemplatesV2',
  'listVolumes',
  'listWebhookDeliveries',
  'listWebhooks',
  'pauseSandbox',
  'redeliverWebhookEvent',
  'setSandboxTimeout',
] satisfies OperationId[]);

/** What it may ask of the operator API. The list of keys tells their names and masks, which open nothing. */
export const operatorOperations: ReadonlySet<OperatorOperationId> = new Set([
  'getTeam',
  'getTeamUsage',
  'listAuditEntries',
  'listNodes',
  'listTeamApiKeys',
  'listTeams',
  'updateTeam',
] satisfies OperatorOperationId[]);

/** What of a body it may send there, of operations that can do more: it sets limits, and neither bans nor renames a team. */
export const operatorMembers: Readonly<Partial<Record<OperatorOperationId, readonly string[]>>> = {
  updateTeam: ['limits'],
};

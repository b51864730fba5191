import type { operatorComponents } from '@svc/platform/operator';
import { isoTime } from '../wire/time.js';
import { type AuditRow, outcomeOf } from './list-entries.js';

type WireEntry = operatorComponents['schemas']['AuditEntry'];

export function entryToWire(row: AuditRow): WireEntry {
  return {
    id: row.id,
    at: isoTime(row.at),
    actor: { kind: row.actor_kind, ...(row.actor_id === null ? {} : { id: row.actor_id }) },
    operation: row.operation,
    ...(row.resource_kind === null
      ? {}
      : {
          resource: { kind: row.resource_kind, ...(row.resource_id === null ? {} : { id: row.resource_id }) },
        }),
    ...(row.team_id === null ? {} : { teamID: row.team_id }),
    outcome: outcomeOf(row.status),
    ...(row.status === null ? {} : { status: row.status }),
    ...(row.finished_at === null ? {} : { durationMs: Math.max(0, row.finished_at - row.at) }),
    ...(row.request_id === null ? {} : { requestID: row.request_id }),
    ...(row.client_address === null ? {} : { clientAddress: row.client_address }),
    nodeID: row.node_id,
  };
}

import type { Insertable } from 'kysely';
import type { AuditEntriesTable } from '../../storage/schema.js';

/** Who acted: with a key of a team, with the operator token or a session of the dashboard, or the service by itself for a reason. */
export type Actor =
  | { kind: 'key'; apiKeyId: string }
  | { kind: 'operator'; via?: 'dashboard' }
  | { kind: 'system'; reason: SystemReason };

/**
 * Why the service acts by itself: `timeout`, the time of a sandbox was over; `traffic`, a request woke it; `ended`, its
 * programs' instance ended by itself; `orphaned`, a start found it without what it needs, or its node was given up; `drain`, its
 * node empties itself.
 */
export type SystemReason = 'timeout' | 'traffic' | 'ended' | 'orphaned' | 'drain';

/** What was acted on. An identifier is absent until it is known, and for lists. */
export interface Resource {
  kind: string;
  id?: string | undefined;
}

/** One act, before its outcome is known. Holds identifiers alone: never a body, a value, a variable or a command. */
export interface Act {
  actor: Actor;
  /** `operationId` of the document. */
  operation: string;
  resource?: Resource | undefined;
  teamId?: string | undefined;
  requestId?: string | undefined;
  clientAddress?: string | undefined;
}

export type EntryRow = Insertable<AuditEntriesTable>;

/** An act as a row. Pure. */
export function toRow(act: Act, place: { id: string; atMs: number; nodeId: string }): EntryRow {
  return {
    id: place.id,
    at: place.atMs,
    ...actorColumns(act.actor),
    operation: act.operation,
    resource_kind: act.resource?.kind ?? null,
    resource_id: act.resource?.id ?? null,
    team_id: act.teamId ?? null,
    status: null,
    finished_at: null,
    request_id: act.requestId ?? null,
    client_address: act.clientAddress ?? null,
    node_id: place.nodeId,
  };
}

function actorColumns(actor: Actor): Pick<EntryRow, 'actor_kind' | 'actor_id'> {
  switch (actor.kind) {
    case 'key':
      return { actor_kind: 'key', actor_id: actor.apiKeyId };
    case 'operator':
      return { actor_kind: 'operator', actor_id: actor.via ?? null };
    case 'system':
      return { actor_kind: 'system', actor_id: actor.reason };
  }
}

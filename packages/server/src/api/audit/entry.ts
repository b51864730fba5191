import type { Insertable } from 'kysely';
import type { AuditEntriesTable } from '../../storage/schema.js';

/** The actor: with a key of a team, with the operator token or a session of the dashboard, or the service by itself for a reason. */
type Actor =
  | { kind: 'key'; apiKeyId: string }
  | { kind: 'operator'; via?: 'dashboard' }
  | { kind: 'system'; reason: SystemReason };

/**
 * The reason why the service acts by itself: `timeout`, the time of a sandbox was over; `traffic`, a request woke it; `ended`, its
 * programs' instance ended by itself; `orphaned`, a start found it without what it needs, or its node was given up; `drain`, its
 * node empties itself.
 */
export type SystemReason = 'timeout' | 'traffic' | 'ended' | 'orphaned' | 'drain';

/** The resource that was acted on. An identifier is absent until it is known, and for lists. */
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

/** First moment beyond the range of UUIDs of version 7. */
const END_MS = 2 ** 48;

/**
 * The identifier of an entry: a UUID of version 7, so that entries lie in the order of their times. Pure.
 * @param random 20 hex digits
 */
export function entryId(atMs: number, random: string): string {
  const time = timeDigits(atMs);
  const variant = (0x8 | (Number.parseInt(random[3] ?? '0', 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}

/** A text that is not above any identifier from this time on, and above all from before. Pure. */
export function leastEntryId(atMs: number): string {
  const time = timeDigits(atMs);
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

function timeDigits(atMs: number): string {
  const whole = Math.min(Math.max(Math.floor(atMs), 0), END_MS - 1);
  return whole.toString(16).padStart(12, '0');
}

/** The end of an act. `unfinished`: it is under way, or the server ended before its outcome was written. */
export type AuditOutcome = 'succeeded' | 'refused' | 'failed' | 'unfinished';

/** One entry of the audit trail: who did what to which resource. Holds identifiers alone. */
export interface AuditEntry {
  readonly entryId: string;
  /** When the act began. */
  readonly at: Date;
  /** `id`: the key's; with `operator` `dashboard` when it acted there; with `system` the reason, such as `timeout`. */
  readonly actor: { readonly kind: 'key' | 'operator' | 'system'; readonly id?: string | undefined };
  /** `operationId` of the platform or operator API. */
  readonly operation: string;
  /** The object of the act; without an id for lists, and for objects that were not made. */
  readonly resource?: { readonly kind: string; readonly id?: string | undefined } | undefined;
  /** The team whose resource it is. */
  readonly teamId?: string | undefined;
  readonly outcome: AuditOutcome;
  /** HTTP status of the outcome; undefined while it is unknown. */
  readonly status?: number | undefined;
  readonly durationMs?: number | undefined;
  /** `X-Request-Id`, which clients may choose. */
  readonly requestId?: string | undefined;
  /** Address that the connection came from; behind a proxy that of the proxy. */
  readonly clientAddress?: string | undefined;
  /** Which server. */
  readonly nodeId: string;
}

/** Which entries to list. */
export interface AuditFilter {
  /** Identifier or slug. */
  team?: string | undefined;
  /** `key`, `operator` or `system`; or the id of a key, a reason of the system, or `dashboard`. */
  actor?: string | undefined;
  operation?: string | undefined;
  resourceId?: string | undefined;
  outcome?: AuditOutcome | undefined;
  /** From this time on. */
  from?: Date | undefined;
  /** Before this time. */
  until?: Date | undefined;
}

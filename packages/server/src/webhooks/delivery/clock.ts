import { type Expression, type RawBuilder, sql } from 'kysely';
import type { Uses } from '../../sandboxes/context.js';
import type { Tx } from '../../storage/schema.js';

/**
 * The clock that deliveries are due by, ms since the epoch: that of PostgreSQL, which all servers share, else this server's.
 * The same throughout a statement, so that an index can be searched by it.
 */
export function deliveryClock(context: Uses<'dialect' | 'now'>): RawBuilder<number> {
  return context.dialect === 'postgres'
    ? sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : sql<number>`${context.now()}`;
}

/** A time by that clock from now. */
export function afterNow(context: Uses<'dialect' | 'now'>, ms: number): Expression<number> {
  return sql<number>`${deliveryClock(context)} + ${sql.lit(ms)}`;
}

/** PostgreSQL ends a transaction in which a server does nothing for so long, ms: what it locked holds up the others. */
const MAX_IDLE_MS = 5_000;

/** Lets a server that is frozen or cut off within this transaction lose it, with its locks. */
export async function boundIdle(tx: Tx, { dialect }: Uses<'dialect'>): Promise<void> {
  if (dialect === 'postgres')
    await sql`set local idle_in_transaction_session_timeout = ${sql.lit(MAX_IDLE_MS)}`.execute(tx);
}

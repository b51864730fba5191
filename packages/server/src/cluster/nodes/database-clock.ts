import { type SqlBool, sql } from 'kysely';

/** A node that said nothing for so long is taken for dead, ms. */
export const SILENCE_MS = 10_000;

/** The clock of PostgreSQL, ms since the epoch: the only one that all nodes share. */
export const databaseNow = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** Heartbeats before this are too old. */
export const silentSince = sql<number>`${databaseNow} - ${SILENCE_MS}`;

/** Condition on rows of `sandboxes`: their node had no heartbeat lately, or there is none. */
export const nodeIsSilent = sql<SqlBool>`not exists (
  select 1 from nodes where nodes.id = sandboxes.node_id and nodes.heartbeat_at >= ${silentSince})`;

/** Condition on rows of `nodes`: it had a heartbeat lately. */
export const nodeIsAlive = sql<SqlBool>`heartbeat_at >= ${silentSince}`;

import { type SqlBool, sql } from 'kysely';

/**
 * Condition on rows of `webhook_deliveries`: open, and no earlier one of its webhook and sandbox is. Values stand in it as
 * they are, since SQLite takes an index of a part of the rows only where it sees them.
 */
export const READY = sql<SqlBool>`status = 'pending' and waits = 0`;

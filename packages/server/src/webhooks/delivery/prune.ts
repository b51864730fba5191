import type { Database } from '../../storage/schema.js';

/** Removes events older than `before` (ms) with their deliveries and attempts. What was not dispatched yet stays. */
export async function pruneEvents(db: Database, before: number): Promise<void> {
  const deliveries = db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('created_at', '<', before)
    .where('status', '!=', 'pending');
  await db.deleteFrom('webhook_attempts').where('delivery_id', 'in', deliveries).execute();
  await db
    .deleteFrom('webhook_deliveries')
    .where('created_at', '<', before)
    .where('status', '!=', 'pending')
    .execute();
  await db
    .deleteFrom('events')
    .where('at', '<', before)
    .where('dispatched', '=', 1)
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('webhook_deliveries').select('id').whereRef('event_seq', '=', 'events.seq'),
        ),
      ),
    )
    .execute();
}

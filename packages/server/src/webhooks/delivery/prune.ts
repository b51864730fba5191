import { sql } from 'kysely';
import type { Uses } from '../../sandboxes/context.js';
import { deleteInBatches, otherWork } from '../../storage/delete-in-batches.js';

/** Deliveries that go in one step, with up to four attempts each. */
const BATCH = 200;

/**
 * Removes events older than `before` (ms) with their deliveries and attempts, a few at a time. What was not dispatched
 * yet stays, and what waits for its delivery.
 */
export async function pruneEvents(context: Uses<'db' | 'dialect'>, before: number): Promise<void> {
  for (;;) {
    const deliveries = await context.db
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('created_at', '<', before)
      .where('status', '!=', 'pending')
      .limit(BATCH)
      .execute();
    if (deliveries.length === 0) break;
    const ids = deliveries.map(({ id }) => id);
    await context.db.transaction().execute(async (tx) => {
      // One that was asked for again meanwhile stays, with its attempts.
      await tx
        .deleteFrom('webhook_deliveries')
        .where('id', 'in', ids)
        .where('status', '!=', 'pending')
        .execute();
      const kept = tx.selectFrom('webhook_deliveries').select('id').where('id', 'in', ids);
      await tx
        .deleteFrom('webhook_attempts')
        .where('delivery_id', 'in', ids)
        .where('delivery_id', 'not in', kept)
        .execute();
    });
    await otherWork();
  }
  await deleteInBatches(
    context,
    'events',
    sql`dispatched = 1 and at < ${before} and not exists (
      select 1 from webhook_deliveries where webhook_deliveries.event_seq = events.seq)`,
  );
}

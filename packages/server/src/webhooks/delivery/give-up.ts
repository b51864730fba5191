import type { Database, WebhookDelivery } from '../../storage/schema.js';
import { isStill } from './hold.js';

/**
 * Ends a delivery that will not be attempted. What was attempted before stays on record and ends as its last attempt did; what
 * never was goes.
 */
export async function giveUp(db: Database, delivery: WebhookDelivery): Promise<void> {
  const last = await db
    .selectFrom('webhook_attempts')
    .select('error_class')
    .where('delivery_id', '=', delivery.id)
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (last === undefined)
    await db
      .deleteFrom('webhook_deliveries')
      .where('id', '=', delivery.id)
      .where(isStill(delivery))
      .execute();
  else
    await db
      .updateTable('webhook_deliveries')
      .set({ status: last.error_class === null ? 'success' : 'failed' })
      .where('id', '=', delivery.id)
      .where(isStill(delivery))
      .execute();
}

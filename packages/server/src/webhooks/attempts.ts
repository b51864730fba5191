import type { components } from '@svc/platform';
import type { Database } from '../storage/schema.js';
import { attemptToWire } from './wire.js';

type Attempt = components['schemas']['WebhookDeliveryAttempt'];

/** Attempts on record by the delivery that they were made for, oldest first. Deliveries without any have no entry. */
export async function attemptsOf(db: Database, deliveryIds: string[]): Promise<Map<string, Attempt[]>> {
  const found = new Map<string, Attempt[]>();
  if (deliveryIds.length === 0) return found;
  const rows = await db
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('delivery_id', 'in', deliveryIds)
    .orderBy('attempt')
    .execute();
  for (const row of rows)
    found.set(row.delivery_id, [...(found.get(row.delivery_id) ?? []), attemptToWire(row)]);
  return found;
}

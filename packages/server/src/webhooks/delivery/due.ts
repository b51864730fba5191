import type { Database, WebhookDeliveriesTable } from '../../storage/schema.js';

/**
 * Deliveries whose time has come. Of one webhook and sandbox only the oldest open one: later events wait for it, so
 * that they arrive in order.
 */
export async function findDueDeliveries(
  db: Database,
  now: number,
  limit: number,
): Promise<WebhookDeliveriesTable[]> {
  return db
    .selectFrom('webhook_deliveries as delivery')
    .selectAll()
    .where('status', '=', 'pending')
    .where('next_attempt_at', '<=', now)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('webhook_deliveries as earlier')
            .select('earlier.id')
            .whereRef('earlier.webhook_id', '=', 'delivery.webhook_id')
            .whereRef('earlier.sandbox_id', '=', 'delivery.sandbox_id')
            .where('earlier.status', '=', 'pending')
            .whereRef('earlier.event_seq', '<', 'delivery.event_seq'),
        ),
      ),
    )
    .orderBy('next_attempt_at')
    .orderBy('event_seq')
    .limit(limit)
    .execute();
}

/** When the next delivery is due, ms; undefined when none is open. */
export async function nextDueAt(db: Database): Promise<number | undefined> {
  const row = await db
    .selectFrom('webhook_deliveries')
    .select('next_attempt_at')
    .where('status', '=', 'pending')
    .orderBy('next_attempt_at')
    .limit(1)
    .executeTakeFirst();
  return row?.next_attempt_at;
}

/**
 * Takes a delivery for this server until `leaseEnd`: after it, another may take it, should this one have died.
 * @returns false when somebody else was faster
 */
export async function claimDelivery(
  db: Database,
  delivery: WebhookDeliveriesTable,
  leaseEnd: number,
): Promise<boolean> {
  const result = await db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: leaseEnd })
    .where('id', '=', delivery.id)
    .where('status', '=', 'pending')
    .where('next_attempt_at', '=', delivery.next_attempt_at)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Database, Schema, WebhookDelivery } from '../../storage/schema.js';

/**
 * Deliveries whose time has come. Of one webhook and sandbox only the oldest open one: later events wait for it, so
 * that they arrive in order. What is delivered again neither waits nor is waited for.
 */
export async function findDueDeliveries(
  db: Database,
  now: number,
  limit: number,
): Promise<WebhookDelivery[]> {
  return db
    .selectFrom('webhook_deliveries as delivery')
    .selectAll()
    .where('status', '=', 'pending')
    .where('next_attempt_at', '<=', now)
    .where(isNext)
    .orderBy('next_attempt_at')
    .orderBy('event_seq')
    .limit(limit)
    .execute();
}

/** When the next delivery is due that waits for no other, ms; undefined when none is open. */
export async function nextDueAt(db: Database): Promise<number | undefined> {
  const row = await db
    .selectFrom('webhook_deliveries as delivery')
    .select('next_attempt_at')
    .where('status', '=', 'pending')
    .where(isNext)
    .orderBy('next_attempt_at')
    .limit(1)
    .executeTakeFirst();
  return row?.next_attempt_at;
}

type Deliveries = Schema & { delivery: Schema['webhook_deliveries'] };

/** Whether an open delivery waits for no earlier one of its webhook and sandbox. */
function isNext(where: ExpressionBuilder<Deliveries, 'delivery'>): Expression<SqlBool> {
  return where.or([
    where('delivery.redelivered_at', 'is not', null),
    where.not(
      where.exists(
        where
          .selectFrom('webhook_deliveries as earlier')
          .select('earlier.id')
          .whereRef('earlier.webhook_id', '=', 'delivery.webhook_id')
          .whereRef('earlier.sandbox_id', '=', 'delivery.sandbox_id')
          .where('earlier.status', '=', 'pending')
          .where('earlier.redelivered_at', 'is', null)
          .whereRef('earlier.event_seq', '<', 'delivery.event_seq'),
      ),
    ),
  ]);
}

/**
 * Takes a delivery for this server until `leaseEnd`: after it, another may take it, should this one have died.
 * @returns the delivery as it is now, or undefined when somebody else was faster
 */
export async function claimDelivery(
  db: Database,
  delivery: WebhookDelivery,
  leaseEnd: number,
): Promise<WebhookDelivery | undefined> {
  return db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: leaseEnd })
    .where('id', '=', delivery.id)
    .where(isStill(delivery))
    .returningAll()
    .executeTakeFirst();
}

/**
 * Whether nobody has touched an open delivery since it was read. The end of a lease is the mark of who holds it: a server that
 * slept through its own must not write what another has done meanwhile.
 */
export function isStill(delivery: WebhookDelivery) {
  return (where: ExpressionBuilder<Schema, 'webhook_deliveries'>): Expression<SqlBool> =>
    where.and([where('status', '=', 'pending'), where('next_attempt_at', '=', delivery.next_attempt_at)]);
}

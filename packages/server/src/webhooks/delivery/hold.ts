import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Uses } from '../../sandboxes/context.js';
import type { Schema, WebhookDelivery } from '../../storage/schema.js';
import { afterNow } from './clock.js';
import { READY } from './ready.js';

/** Time from the claim to the first byte, ms. The hold lasts longer by all that the exchange may take after it. */
const START_MS = 10_000;

type Context = Uses<'config' | 'db' | 'dialect' | 'now'>;

/** A delivery that this server alone may attempt, for a while. */
export interface Hold {
  delivery: WebhookDelivery;
  /**
   * Whether an exchange that begins now ends within the hold. No machine sees how long it was suspended by all of its
   * clocks: the one that moved most counts.
   */
  mayStart(): boolean;
}

/**
 * Takes a delivery for this server. Once the hold has run out another one may take it, should this one have died.
 * @param delivery as it was read
 * @returns undefined when somebody else was faster, or when an earlier event is open after all
 */
export async function holdDelivery(context: Context, delivery: WebhookDelivery): Promise<Hold | undefined> {
  // From before the database answers: the hold seems shorter here than it is there.
  const [monotonic, wall] = [performance.now(), context.now()];
  const held = await context.db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: afterNow(context, START_MS + context.config.webhooks.timeoutMs) })
    .where('id', '=', delivery.id)
    .where(READY)
    .where(isStill(delivery))
    .where(isFirst(delivery))
    .returningAll()
    .executeTakeFirst();
  if (held === undefined) return undefined;
  return {
    delivery: held,
    mayStart: () => Math.max(performance.now() - monotonic, context.now() - wall) < START_MS,
  };
}

/** Whether this server still has a delivery, by the database and its clock, for as long as an exchange may take. */
export async function isHeld(context: Context, delivery: WebhookDelivery): Promise<boolean> {
  const row = await context.db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('id', '=', delivery.id)
    .where(isStill(delivery))
    .where('next_attempt_at', '>=', afterNow(context, context.config.webhooks.timeoutMs))
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Whether nobody has touched an open delivery since it was read. The end of a hold is the mark of who has it: a server that
 * slept through its own must not write what another has done meanwhile.
 */
export function isStill(delivery: WebhookDelivery) {
  return (where: ExpressionBuilder<Schema, 'webhook_deliveries'>): Expression<SqlBool> =>
    where.and([where('status', '=', 'pending'), where('next_attempt_at', '=', delivery.next_attempt_at)]);
}

/**
 * Whether no earlier event of the webhook and sandbox is open: what is delivered again neither waits nor is waited for. Servers
 * of earlier versions that run beside this one may write deliveries in another order than that of their events.
 */
const isFirst = (delivery: WebhookDelivery) => sql<SqlBool>`(redelivered_at is not null or not exists (
  select 1 from webhook_deliveries as earlier
  where earlier.webhook_id = ${delivery.webhook_id} and earlier.sandbox_id = ${delivery.sandbox_id}
    and earlier.event_seq < ${delivery.event_seq}
    and earlier.status = 'pending' and earlier.redelivered_at is null))`;

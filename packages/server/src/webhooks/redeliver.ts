import type { components } from '@svc/platform';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import type { Uses } from '../sandboxes/context.js';
import { attemptsOf } from './attempts.js';
import { afterNow, boundIdle } from './delivery/clock.js';
import { findWebhook } from './records.js';
import { deliveryToWire } from './wire.js';

/** Earlier attempts that stay on record: who redelivers again and again must not fill the database. */
const KEPT_ATTEMPTS = 10;

/**
 * Makes a delivery due again, with all attempts that its first time had. It is outside the order of its sandbox from then on.
 * @throws {ApiError} 400, 404, 409 while it is pending or the webhook is disabled
 */
export async function redeliverEvent(
  context: Uses<'db' | 'dialect' | 'events' | 'now'>,
  teamId: string,
  webhookId: string,
  eventId: string,
): Promise<components['schemas']['WebhookDelivery']> {
  if (!isUuid(eventId)) throw errors.invalidEventId();
  const webhook = await findWebhook(context.db, teamId, webhookId);
  const now = context.now();
  const answer = await context.db.transaction().execute(async (tx) => {
    await boundIdle(tx, context);
    const delivery = await tx
      .selectFrom('webhook_deliveries')
      .select(['id', 'attempts'])
      .where('webhook_id', '=', webhook.id)
      .where('event_seq', '=', (build) =>
        build.selectFrom('events').select('seq').where('id', '=', eventId.toLowerCase()),
      )
      .executeTakeFirst();
    if (delivery === undefined) throw errors.deliveryNotFound();
    if (webhook.enabled === 0) throw errors.webhookDisabled();
    // Of several requests at the same time, one finds it settled.
    const pending = await tx
      .updateTable('webhook_deliveries')
      .set((build) => ({
        status: 'pending',
        next_attempt_at: afterNow(context, 0),
        redelivered_at: now,
        earlier_attempts: build.ref('attempts'),
        updated_at: now,
      }))
      .where('id', '=', delivery.id)
      .where('status', '!=', 'pending')
      .returningAll()
      .executeTakeFirst();
    if (pending === undefined) throw errors.deliveryPending();
    await tx
      .deleteFrom('webhook_attempts')
      .where('delivery_id', '=', pending.id)
      .where('attempt', '<=', pending.attempts - KEPT_ATTEMPTS)
      .execute();
    const attempts = await attemptsOf(tx, [pending.id]);
    return deliveryToWire(pending, attempts.get(pending.id));
  });
  context.events.committed();
  return answer;
}

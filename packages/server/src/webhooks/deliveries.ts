import type { components } from '@svc/platform';
import { errors } from '../api/errors/catalog.js';
import { isUuid } from '../api/wire/ids.js';
import { cutPage, decodeNextToken } from '../api/wire/next-token.js';
import type { Uses } from '../sandboxes/context.js';
import type { Database } from '../storage/schema.js';
import { afterNow, boundIdle } from './delivery/queue.js';
import { findWebhook } from './records.js';
import { attemptToWire, deliveryToWire } from './wire.js';

type Page = components['schemas']['WebhookDeliveriesPage'];

interface DeliveriesQuery {
  cursor?: string | undefined;
  limit?: number | undefined;
  orderAsc?: boolean | undefined;
  start?: string | undefined;
  end?: string | undefined;
  deliveryStatus?: 'success' | 'failed' | undefined;
  eventType?: string | undefined;
}

/**
 * Deliveries of a webhook that were attempted at least once, by the time they were made.
 * @throws {ApiError} 400 for a bad cursor, 404
 */
export async function listDeliveries(
  db: Database,
  teamId: string,
  webhookId: string,
  query: DeliveriesQuery,
): Promise<Page> {
  const { id } = await findWebhook(db, teamId, webhookId);
  const limit = query.limit ?? 25;
  const direction = query.orderAsc === true ? 'asc' : 'desc';
  let select = db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', id)
    .where('attempts', '>', 0);
  if (query.start !== undefined) select = select.where('created_at', '>=', Date.parse(query.start));
  if (query.end !== undefined) select = select.where('created_at', '<', Date.parse(query.end));
  if (query.deliveryStatus !== undefined) select = select.where('status', '=', query.deliveryStatus);
  if (query.eventType !== undefined) select = select.where('event_type', '=', query.eventType);
  const after = decodeNextToken(query.cursor, direction);
  if (after !== undefined) {
    const seq = Number(after.id);
    if (!Number.isSafeInteger(seq)) throw errors.invalidNextToken();
    select = select.where('event_seq', direction === 'asc' ? '>' : '<', seq);
  }
  const rows = await select
    .orderBy('event_seq', direction)
    .limit(limit + 1)
    .execute();
  const keyOf = (row: (typeof rows)[number]) => ({ atMs: row.created_at, id: String(row.event_seq) });
  const { rows: shown, nextToken } = cutPage(rows, limit, keyOf, direction);
  const attempts = await attemptsOf(
    db,
    shown.map((row) => row.id),
  );
  return {
    data: shown.map((row) => deliveryToWire(row, attempts.get(row.id))),
    nextCursor: nextToken ?? null,
  };
}

type Attempt = components['schemas']['WebhookDeliveryAttempt'];

/** Attempts on record by the delivery that they were made for, oldest first. Deliveries without any have no entry. */
async function attemptsOf(db: Database, deliveryIds: string[]): Promise<Map<string, Attempt[]>> {
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
    // One of several requests at the same time finds it settled.
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

import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { inSpan } from '../../api/context/tracer.js';
import type { Uses } from '../../sandboxes/context.js';
import { eventToPayload } from '../../sandboxes/events/events.js';
import { toJson } from '../../storage/json.js';
import type { AttemptDetail } from '../../storage/json-shapes.js';
import type { Database, Schema, WebhookDelivery } from '../../storage/schema.js';
import type { Poster, PostResult } from './post.js';
import { afterNow, boundIdle, READY } from './queue.js';
import { decryptSignatureSecret, deliveryHeaders, redactHeaders, signPayload } from './signature.js';

const MAX_BODY_CHARACTERS = 65_536;

type Context = Uses<'config' | 'db' | 'dialect' | 'ids' | 'keys' | 'metrics' | 'now' | 'signal' | 'tracer'>;

/**
 * Makes one attempt and notes how it went. The webhook is read anew: what was switched off or deleted meanwhile gets
 * nothing, and its delivery is given up. Nothing is sent, nor noted, once another server may have the delivery.
 */
export async function attemptDelivery(context: Context, poster: Poster, lease: Lease): Promise<void> {
  const { delivery } = lease;
  const webhook = await context.db
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', delivery.webhook_id)
    .executeTakeFirst();
  const event = await context.db
    .selectFrom('events')
    .selectAll()
    .where('seq', '=', delivery.event_seq)
    .executeTakeFirst();
  if (webhook === undefined || webhook.enabled === 0 || event === undefined)
    return giveUp(context.db, delivery);

  const body = JSON.stringify(eventToPayload(event));
  const attemptId = context.ids.uuid();
  const startedAt = context.now();
  const timestampSeconds = Math.floor(startedAt / 1000);
  const signature = signPayload(
    decryptSignatureSecret(context.keys, webhook),
    event.id,
    timestampSeconds,
    body,
  );
  const headers = deliveryHeaders({
    eventId: event.id,
    webhookId: webhook.id,
    attemptId,
    timestampSeconds,
    signature,
  });
  if (!(await isLeased(context, delivery))) return release(context, delivery);
  const post = async () => {
    const answer = await poster.post(webhook.url, headers, body, {
      signal: context.signal,
      mayStart: lease.mayStart,
    });
    context.tracer?.annotate({
      ...(answer.status === undefined ? {} : { 'http.response.status_code': answer.status }),
      ...(answer.errorClass === undefined ? {} : { 'error.type': answer.errorClass }),
    });
    return answer;
  };
  const result = await inSpan(context.tracer, 'webhook.deliver', post, {
    kind: 'client',
    root: true,
    attributes: { 'svc.webhook.id': webhook.id, 'svc.attempt': delivery.attempts + 1 },
  });
  // A stop of the server is no fault of the receiver, nor is that it slept: the next one tries again.
  if (result.errorClass === 'canceled') return release(context, delivery);

  context.metrics?.delivery(result.errorClass ?? 'delivered');
  const now = context.now();
  const attempts = delivery.attempts + 1;
  const delay = context.config.webhooks.retryDelaysMs[attempts - delivery.earlier_attempts - 1];
  await context.db.transaction().execute(async (tx) => {
    await boundIdle(tx, context);
    const noted = await tx
      .updateTable('webhook_deliveries')
      .set({
        attempts,
        updated_at: now,
        status: result.ok ? 'success' : delay === undefined ? 'failed' : 'pending',
        next_attempt_at: afterNow(context, delay ?? 0),
      })
      .where('id', '=', delivery.id)
      .where(isStill(delivery))
      .executeTakeFirst();
    if (noted.numUpdatedRows === 0n) return;
    await tx
      .insertInto('webhook_attempts')
      .values({
        id: attemptId,
        delivery_id: delivery.id,
        attempt: attempts,
        started_at: startedAt,
        duration_ms: Math.max(0, now - startedAt),
        response_status: result.status ?? null,
        error_class: result.errorClass ?? null,
        detail: toJson(detailOf(webhook.url, headers, body, result)),
      })
      .execute();
  });
}

/** Makes a delivery due that was not attempted, unless somebody else has it. */
async function release(context: Context, delivery: WebhookDelivery): Promise<void> {
  await context.db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: afterNow(context, 0) })
    .where('id', '=', delivery.id)
    .where(isStill(delivery))
    .execute();
}

function detailOf(
  url: string,
  headers: Record<string, string>,
  body: string,
  result: PostResult,
): AttemptDetail {
  return {
    requestUrl: url,
    requestHeaders: redactHeaders(headers),
    requestBody: body.slice(0, MAX_BODY_CHARACTERS),
    ...(result.headers === undefined ? {} : { responseHeaders: result.headers }),
    ...(result.body === undefined ? {} : { responseBody: result.body }),
    ...(result.errorMessage === undefined ? {} : { errorMessage: result.errorMessage }),
  };
}

/** Time from the claim to the first byte, ms. The lease lasts longer by all that the exchange may take after it. */
const START_MS = 10_000;

type LeaseContext = Uses<'config' | 'db' | 'dialect' | 'now'>;

/** A delivery that this server alone may attempt, for a while. */
export interface Lease {
  delivery: WebhookDelivery;
  /**
   * Returns whether an exchange that begins now ends within the lease. No machine sees how long it was suspended by all of its
   * clocks: the one that moved most counts.
   */
  mayStart(): boolean;
}

/**
 * Takes a delivery for this server. Once the lease has run out another one may take it, should this one have died.
 * @param delivery as it was read
 * @returns undefined when somebody else was faster, or when an earlier event is open after all
 */
export async function leaseDelivery(
  context: LeaseContext,
  delivery: WebhookDelivery,
): Promise<Lease | undefined> {
  // Read before the database answers: the lease seems shorter here than it is there.
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

/** Returns whether this server still has a delivery, by the database and its clock, for as long as an exchange may take. */
async function isLeased(context: LeaseContext, delivery: WebhookDelivery): Promise<boolean> {
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
 * Matches an open delivery that nothing has changed since it was read. The end of a lease identifies its holder: a server that
 * slept through its own must not write what another has done meanwhile.
 */
function isStill(delivery: WebhookDelivery) {
  return (where: ExpressionBuilder<Schema, 'webhook_deliveries'>): Expression<SqlBool> =>
    where.and([where('status', '=', 'pending'), where('next_attempt_at', '=', delivery.next_attempt_at)]);
}

/**
 * Matches a delivery without an open earlier event of its webhook and sandbox: a redelivery neither waits nor is waited for. Servers
 * of earlier versions that run beside this one may write deliveries in another order than that of their events.
 */
const isFirst = (delivery: WebhookDelivery) => sql<SqlBool>`(redelivered_at is not null or not exists (
  select 1 from webhook_deliveries as earlier
  where earlier.webhook_id = ${delivery.webhook_id} and earlier.sandbox_id = ${delivery.sandbox_id}
    and earlier.event_seq < ${delivery.event_seq}
    and earlier.status = 'pending' and earlier.redelivered_at is null))`;

/**
 * Ends a delivery that will not be attempted. What was attempted before stays on record and ends as its last attempt did; what
 * never was goes.
 */
async function giveUp(db: Database, delivery: WebhookDelivery): Promise<void> {
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

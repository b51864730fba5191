import { inSpan } from '../../api/context/tracer.js';
import type { Uses } from '../../sandboxes/context.js';
import { eventToPayload } from '../../sandboxes/events/wire.js';
import { toJson } from '../../storage/json.js';
import type { AttemptDetail } from '../../storage/json-shapes.js';
import type { WebhookDelivery } from '../../storage/schema.js';
import { afterNow, boundIdle } from './clock.js';
import { giveUp } from './give-up.js';
import { type Hold, isHeld, isStill } from './hold.js';
import type { Poster, PostResult } from './post.js';
import { deliveryHeaders, redactHeaders, signPayload } from './sign.js';
import { decryptSignatureSecret } from './signature-secret.js';

const MAX_BODY_CHARACTERS = 65_536;

type Context = Uses<'config' | 'db' | 'dialect' | 'ids' | 'keys' | 'metrics' | 'now' | 'signal' | 'tracer'>;

/**
 * Makes one attempt and notes how it went. The webhook is read anew: what was switched off or deleted meanwhile gets
 * nothing, and its delivery is given up. Nothing is sent, nor noted, once another server may have the delivery.
 */
export async function attemptDelivery(context: Context, poster: Poster, hold: Hold): Promise<void> {
  const { delivery } = hold;
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
  if (!(await isHeld(context, delivery))) return release(context, delivery);
  const post = async () => {
    const answer = await poster.post(webhook.url, headers, body, {
      signal: context.signal,
      mayStart: hold.mayStart,
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

import type { components } from '@svc/platform';
import { isoTime } from '../api/wire/time.js';
import { fromJson } from '../storage/json.js';
import type { WebhookAttemptsTable, WebhookDelivery, WebhooksTable } from '../storage/schema.js';

type Delivery = components['schemas']['WebhookDelivery'];
type Attempt = components['schemas']['WebhookDeliveryAttempt'];

/** The record as the API shows it. The secret is no part of it. */
export function webhookToWire(row: WebhooksTable): components['schemas']['Webhook'] {
  return {
    id: row.id,
    teamId: row.team_id,
    name: row.name,
    createdAt: isoTime(row.created_at),
    url: row.url,
    enabled: row.enabled !== 0,
    events: fromJson(row.events),
  };
}

/** Renders the delivery of an event, with its attempts, oldest first. */
export function deliveryToWire(row: WebhookDelivery, attempts: Attempt[] = []): Delivery {
  return {
    eventId: row.event_id,
    eventType: row.event_type as Delivery['eventType'],
    sandboxId: row.sandbox_id,
    status: row.status,
    attempts,
  };
}

/** One attempt as the API shows it. */
export function attemptToWire(row: WebhookAttemptsTable): Attempt {
  const detail = fromJson(row.detail);
  return {
    id: row.id,
    attempt: row.attempt,
    status: row.error_class === null ? 'success' : 'failed',
    timestamp: isoTime(row.started_at),
    durationMs: row.duration_ms,
    ...detail,
    ...(row.response_status === null ? {} : { responseStatus: row.response_status }),
    ...(row.error_class === null
      ? {}
      : { errorClass: row.error_class as NonNullable<Attempt['errorClass']> }),
  };
}

import type {
  UpdateWebhook,
  WebhookDelivery,
  WebhookPayload,
  WebhookStatsTotals,
  NewWebhook as WireNewWebhook,
  WebhookStats as WireStats,
  Webhook as WireWebhook,
} from '@svc/platform';
import { defined } from '../core/wire-values.js';
import type { LifecycleEvent } from '../events/lifecycle-event.js';
import { toLifecycleEvent } from '../events/wire.js';
import type {
  Delivery,
  DeliveryCounts,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookStats,
} from './webhook.js';

/** One webhook. */
export function fromWebhook({ id, teamId, name, url, enabled, events, createdAt }: WireWebhook): Webhook {
  return { id, teamId, name, url, enabled, events, createdAt: new Date(createdAt) };
}

/** The body of a create request. */
export function toNewWebhook(webhook: NewWebhook): WireNewWebhook {
  return toChange(webhook) as WireNewWebhook;
}

/** The body of a change. */
export function toChange({ name, url, events, signatureSecret, enabled }: WebhookChange): UpdateWebhook {
  return defined({ name, url, events: events && [...events], signatureSecret, enabled });
}

/** One delivery with its attempts. */
export function fromDelivery({ eventId, eventType, sandboxId, status, attempts }: WebhookDelivery): Delivery {
  return {
    eventId,
    eventType,
    sandboxId,
    status,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      timestamp: new Date(attempt.timestamp),
      responseStatus: attempt.responseStatus,
      responseHeaders: attempt.responseHeaders,
      responseBody: attempt.responseBody,
      errorClass: attempt.errorClass,
      errorMessage: attempt.errorMessage,
    })),
  };
}

/** Statistics. */
export function fromStats(stats: WireStats): WebhookStats {
  return {
    start: new Date(stats.start),
    end: new Date(stats.end),
    totals: fromCounts(stats.totals),
    buckets: stats.buckets.map((bucket) => ({
      ...fromCounts(bucket),
      start: new Date(bucket.start),
      end: new Date(bucket.end),
    })),
  };
}

/** The event in the body of a delivery. */
export function fromPayload(payload: WebhookPayload): LifecycleEvent {
  return toLifecycleEvent({
    id: payload.id,
    version: payload.version,
    type: payload.type,
    timestamp: payload.timestamp,
    sandboxId: payload.sandbox_id,
    executionId: payload.sandbox_execution_id,
    templateId: payload.sandbox_template_id,
    buildId: payload.sandbox_build_id,
    teamId: payload.sandbox_team_id,
    data: payload.event_data,
  });
}

function fromCounts({ deliveries, succeeded, failed, attempts }: WebhookStatsTotals): DeliveryCounts {
  return { deliveries, succeeded, failed, attempts };
}

import type { components } from '@svc/platform';
import { fromJson } from '../storage/json.js';
import type { WebhooksTable } from '../storage/schema.js';
import { isoTime } from '../wire/time.js';

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

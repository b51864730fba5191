import type { components } from '@svc/platform';
import { errors } from '../api/errors/catalog.js';
import { cutPage, decodeNextToken } from '../api/wire/next-token.js';
import type { Database } from '../storage/schema.js';
import { attemptsOf } from './attempts.js';
import { findWebhook } from './records.js';
import { deliveryToWire } from './wire.js';

type Page = components['schemas']['WebhookDeliveriesPage'];

export interface DeliveriesQuery {
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

import { sql } from 'kysely';
import type { Uses } from '../../sandboxes/context.js';
import type { WebhookDelivery } from '../../storage/schema.js';
import { deliveryClock } from './clock.js';
import { READY } from './ready.js';

/** A webhook with an open delivery that waits for no other. */
export interface OpenWebhook {
  webhookId: string;
  teamId: string;
  /** Until the first of them is due, ms; 0 or less when it is. */
  dueInMs: number;
}

/** All webhooks with something to deliver. Costs a few steps in an index for each, however much that is. */
export async function findOpenWebhooks(context: Uses<'db' | 'dialect' | 'now'>): Promise<OpenWebhook[]> {
  const first = (column: string, more = sql``) =>
    sql`select min(${sql.ref(column)}) from webhook_deliveries where ${READY} ${more}`;
  const ofThis = sql`and webhook_id = open.id`;
  // The database goes from one webhook to the next in the index, and skips what is in between.
  const { rows } = await sql<OpenWebhook>`
    with recursive open (id) as (
      ${first('webhook_id')}
      union all
      select (${first('webhook_id', sql`and webhook_id > open.id`)}) from open where id is not null
    )
    select id as "webhookId",
      (select team_id from webhook_deliveries where ${READY} ${ofThis} limit 1) as "teamId",
      (${first('next_attempt_at', ofThis)}) - ${deliveryClock(context)} as "dueInMs"
    from open where id is not null`.execute(context.db);
  return rows;
}

/** Deliveries of a webhook whose time has come and that wait for no other, the longest due first. */
export async function findDueDeliveries(
  context: Uses<'db' | 'dialect' | 'now'>,
  webhookId: string,
  limit: number,
): Promise<WebhookDelivery[]> {
  return context.db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where(READY)
    .where('webhook_id', '=', webhookId)
    .where('next_attempt_at', '<=', deliveryClock(context))
    .orderBy('next_attempt_at')
    .orderBy('event_seq')
    .limit(limit)
    .execute();
}

import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Uses } from '../../sandboxes/context.js';
import { deleteInBatches, otherWork } from '../../storage/delete-in-batches.js';
import { fromJson } from '../../storage/json.js';
import type { Tx, WebhookDelivery } from '../../storage/schema.js';

/**
 * The clock that deliveries are due by, ms since the epoch: that of PostgreSQL, which all servers share, else this server's.
 * It is constant throughout a statement, so that an index can be searched by it.
 */
function deliveryClock(context: Uses<'dialect' | 'now'>): RawBuilder<number> {
  return context.dialect === 'postgres'
    ? sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
    : sql<number>`${context.now()}`;
}

/** A time by that clock from now. */
export function afterNow(context: Uses<'dialect' | 'now'>, ms: number): Expression<number> {
  return sql<number>`${deliveryClock(context)} + ${sql.lit(ms)}`;
}

/** PostgreSQL ends a transaction in which a server does nothing for so long, ms: its locks block the others. */
const MAX_IDLE_MS = 5_000;

/** Lets a server that is frozen or cut off within this transaction lose it, with its locks. */
export async function boundIdle(tx: Tx, { dialect }: Uses<'dialect'>): Promise<void> {
  if (dialect === 'postgres')
    await sql`set local idle_in_transaction_session_timeout = ${sql.lit(MAX_IDLE_MS)}`.execute(tx);
}

/**
 * Condition on rows of `webhook_deliveries`: open, and no earlier one of its webhook and sandbox is. Values stand in it as
 * they are, since SQLite takes an index of a part of the rows only where it sees them.
 */
export const READY = sql<SqlBool>`status = 'pending' and waits = 0`;

const DISPATCH_BATCH = 500;

/**
 * Turns events of the outbox into deliveries, one for each enabled webhook of the team that subscribes to them and was
 * there when they happened. Servers that do so at the same time wait for each other: deliveries of one sandbox are there
 * in the order of its events, none before an earlier one.
 * @returns how many events were taken
 */
export async function dispatchEvents(context: Uses<'db' | 'dialect' | 'ids' | 'now'>): Promise<number> {
  return context.db.transaction().execute(async (tx) => {
    await boundIdle(tx, context);
    let pending = tx
      .selectFrom('events')
      .select(['seq', 'id', 'team_id', 'sandbox_id', 'type', 'at'])
      .where('dispatched', '=', 0)
      .orderBy('seq')
      .limit(DISPATCH_BATCH);
    const shared = context.dialect === 'postgres';
    if (shared) pending = pending.forUpdate();
    const events = await pending.execute();
    if (events.length === 0) return 0;

    const teams = [...new Set(events.map((event) => event.team_id))];
    let enabled = tx
      .selectFrom('webhooks')
      .select(['id', 'team_id', 'events', 'created_at'])
      .where('team_id', 'in', teams)
      .where('enabled', '=', 1)
      .orderBy('id');
    // None is deleted before its deliveries are there to be deleted with it.
    if (shared) enabled = enabled.forShare();
    const webhooks = await enabled.execute();
    const subscribed = webhooks.map((webhook) => ({
      ...webhook,
      types: new Set<string>(fromJson(webhook.events)),
    }));

    const now = context.now();
    const deliveries = events.flatMap((event) =>
      subscribed
        .filter(
          (webhook) =>
            webhook.team_id === event.team_id &&
            webhook.types.has(event.type) &&
            webhook.created_at <= event.at,
        )
        .map((webhook) => ({
          id: context.ids.uuid(),
          webhook_id: webhook.id,
          team_id: event.team_id,
          event_seq: event.seq,
          event_id: event.id,
          event_type: event.type,
          sandbox_id: event.sandbox_id,
          status: 'pending' as const,
          attempts: 0,
          next_attempt_at: afterNow(context, 0),
          created_at: now,
          updated_at: now,
        })),
    );
    // SQLite takes at most some thousand values in one statement.
    for (let start = 0; start < deliveries.length; start += 100)
      await tx
        .insertInto('webhook_deliveries')
        .values(deliveries.slice(start, start + 100))
        .onConflict((conflict) => conflict.columns(['webhook_id', 'event_seq']).doNothing())
        .execute();
    await tx
      .updateTable('events')
      .set({ dispatched: 1 })
      .where(
        'seq',
        'in',
        events.map((event) => event.seq),
      )
      .execute();
    return events.length;
  });
}

/** A webhook with an open delivery that waits for no other. */
interface OpenWebhook {
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

/** Deliveries that go in one step, with up to four attempts each. */
const PRUNE_BATCH = 200;

/**
 * Removes events older than `before` (ms) with their deliveries and attempts, a few at a time. What was not dispatched
 * yet stays, and what waits for its delivery.
 */
export async function pruneEvents(context: Uses<'db' | 'dialect'>, before: number): Promise<void> {
  for (;;) {
    const deliveries = await context.db
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('created_at', '<', before)
      .where('status', '!=', 'pending')
      .limit(PRUNE_BATCH)
      .execute();
    if (deliveries.length === 0) break;
    const ids = deliveries.map(({ id }) => id);
    await context.db.transaction().execute(async (tx) => {
      // One that was asked for again meanwhile stays, with its attempts.
      await tx
        .deleteFrom('webhook_deliveries')
        .where('id', 'in', ids)
        .where('status', '!=', 'pending')
        .execute();
      const kept = tx.selectFrom('webhook_deliveries').select('id').where('id', 'in', ids);
      await tx
        .deleteFrom('webhook_attempts')
        .where('delivery_id', 'in', ids)
        .where('delivery_id', 'not in', kept)
        .execute();
    });
    await otherWork();
  }
  await deleteInBatches(
    context,
    'events',
    sql`dispatched = 1 and at < ${before} and not exists (
      select 1 from webhook_deliveries where webhook_deliveries.event_seq = events.seq)`,
  );
}

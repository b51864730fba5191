import type { Uses } from '../../sandboxes/context.js';
import { fromJson } from '../../storage/json.js';
import { afterNow, boundIdle } from './clock.js';

const BATCH = 500;

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
      .limit(BATCH);
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

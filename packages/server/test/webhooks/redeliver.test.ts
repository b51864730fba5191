import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import { randomIds } from '../../src/config/ids.js';
import { backlogMetrics } from '../../src/operator/metrics/readings.js';
import { listDeliveries, redeliverEvent } from '../../src/webhooks/deliveries.js';
import { attemptDelivery, leaseDelivery } from '../../src/webhooks/delivery/attempt.js';
import { findDueDeliveries, pruneEvents } from '../../src/webhooks/delivery/queue.js';
import { deleteWebhook, updateWebhook } from '../../src/webhooks/records.js';
import { webhookStats } from '../../src/webhooks/stats.js';
import { dialects } from '../support/storage.js';
import { type Context, SECRET, team, WebhookFixture } from '../support/webhook-fixture.js';

const HOUR_MS = 3_600_000;

describe.each(dialects)('an event that is delivered again on %s', (dialect) => {
  let fixture: WebhookFixture;
  beforeEach(async () => {
    fixture = await WebhookFixture.open(dialect);
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  const list = async (on: Context, webhookId: string) =>
    (await listDeliveries(on.db, team.id, webhookId, { orderAsc: true, limit: 100 })).data;
  const again = (on: Context, webhookId: string, eventId: string) =>
    redeliverEvent(on, team.id, webhookId, eventId);
  /** Waits until nothing is open, and gives what became of all. */
  const settled = (on: Context, webhookId: string, count = 1) =>
    eventually('all deliveries have ended', async () => {
      const all = await list(on, webhookId);
      return all.length === count && all.every(({ status }) => status !== 'pending') ? all : undefined;
    });
  /** A webhook that was sent `count` events, with its worker. */
  async function delivered(count = 1, options: Parameters<WebhookFixture['context']>[0] = {}) {
    const on = fixture.context(options);
    const { id } = await fixture.webhook(on);
    const worker = fixture.work(on);
    await fixture.emit(on, count);
    const events = (await settled(on, id, count)).map(({ eventId }) => eventId);
    return { on, id, worker, events, event: events[0]! };
  }

  it('has the id of before, a new time and a signature that holds, and all attempts are listed', async () => {
    let clock = Date.now();
    const { on, id, event } = await delivered(1, { now: () => clock });
    clock += 400_000;
    const answer = await again(on, id, event.toUpperCase());
    expect(answer).toMatchObject({ eventId: event, status: 'pending', attempts: [{ attempt: 1 }] });
    const [delivery] = await settled(on, id);
    expect(delivery?.attempts.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 'success'],
      [2, 'success'],
    ]);
    const [first, second] = fixture.received.map(({ headers }) => headers as Record<string, string>);
    expect(second?.['webhook-id']).toBe(first?.['webhook-id']);
    expect(second?.['svc-delivery-id']).not.toBe(first?.['svc-delivery-id']);
    expect(Number(second?.['webhook-timestamp']) - Number(first?.['webhook-timestamp'])).toBe(400);
    expect(fixture.received[1]?.body).toBe(fixture.received[0]?.body);
    const receiver = new StandardWebhook(Buffer.from(SECRET).toString('base64'));
    const now = { ...second!, 'webhook-timestamp': first!['webhook-timestamp']! };
    expect(() => receiver.verify(fixture.received[1]!.body, now)).toThrow('No matching signature');
    const { totals } = await webhookStats({ ...on, now: () => clock + 1_000 }, team.id, id, {});
    expect(totals).toEqual({ deliveries: 1, succeeded: 1, failed: 0, attempts: 2 });
  });

  it('has as many attempts as the first time', async () => {
    fixture.answer = () => 500;
    const { on, id, event } = await delivered();
    expect(fixture.received).toHaveLength(4);
    await again(on, id, event);
    const [failed] = await settled(on, id);
    expect(failed).toMatchObject({ status: 'failed' });
    expect(failed?.attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    fixture.answer = () => 204;
    await again(on, id, event);
    const [arrived] = await settled(on, id);
    expect(arrived?.status).toBe('success');
    expect(fixture.received).toHaveLength(9);
  });

  it('keeps the last ten attempts of before, however often that is done', async () => {
    const { on, id, event } = await delivered();
    for (let count = 0; count < 14; count++) {
      await again(on, id, event);
      await settled(on, id);
    }
    const [delivery] = await list(on, id);
    expect(delivery?.attempts.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: 11 }, (_, index) => index + 5),
    );
    expect(await on.db.selectFrom('webhook_attempts').select('id').execute()).toHaveLength(11);
  });

  it('does not hold up newer events of its sandbox', async () => {
    fixture.answer = () => 500;
    const { on, id, worker, event } = await delivered(1, { retryDelaysMs: [] });
    await worker.stop();
    fixture.answer = (one) => (one.event.id === event ? 500 : 204);
    const slow = fixture.context({ retryDelaysMs: [HOUR_MS] });
    fixture.work(slow);
    await again(slow, id, event);
    await eventually('a second attempt', () => fixture.received.length === 2);
    await fixture.emit(slow, 3);
    await eventually('the newer ones', () => fixture.received.length === 5);
    expect((await list(on, id))[0]).toMatchObject({ eventId: event, status: 'pending' });
  });

  it('is not delayed by an older event that waits', async () => {
    const { on, id, worker, events } = await delivered(2);
    await worker.stop();
    fixture.answer = ({ event }) => (events.includes(event.id) ? 204 : 500);
    const slow = fixture.context({ retryDelaysMs: [HOUR_MS] });
    // An older one waits for its second attempt: so would one that another server had yet to send.
    await on.db
      .updateTable('webhook_deliveries')
      .set({ status: 'pending', next_attempt_at: Date.now() + HOUR_MS })
      .where('event_id', '=', events[0]!)
      .execute();
    fixture.work(slow);
    await again(slow, id, events[1]!);
    await eventually('the newer event again', () => fixture.received.length === 3);
    expect(fixture.received.at(-1)?.event.id).toBe(events[1]);
  });

  it('waits for no worker: one that starts later sends it', async () => {
    const { on, id, worker, event } = await delivered();
    await worker.stop();
    await again(on, id, event);
    fixture.work(fixture.context());
    await eventually('the second request', () => fixture.received.length === 2);
  });

  it.runIf(dialect === 'postgres')('is sent by one of two servers', async () => {
    const { on, id, events } = await delivered(30);
    const second = fixture.context({ store: await fixture.openStore() });
    fixture.work(second);
    await Promise.all(events.map((event, index) => again(index % 2 === 0 ? on : second, id, event)));
    const all = await settled(on, id, 30);
    expect(all.map(({ attempts }) => attempts.length)).toEqual(all.map(() => 2));
    expect(fixture.received).toHaveLength(60);
  });

  it('cannot be asked for while it is on its way, not even by several at the same time', async () => {
    const { on, id, worker, event } = await delivered();
    await worker.stop();
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => again(on, id, event)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of asked)
      if (one.status === 'rejected')
        expect(one.reason).toMatchObject({
          status: 409,
          message: expect.stringMatching(/on its way already/),
        });
    fixture.work(on);
    await settled(on, id);
    expect(fixture.received).toHaveLength(2);
  });

  it('must be one that this webhook of this team was sent', async () => {
    const { on, id, event } = await delivered();
    const other = await fixture.webhook(on);
    const missing = /not sent to this webhook, or is no longer kept/;
    for (const [webhook, named, teamId, status, message] of [
      [id, randomIds.uuid(), team.id, 404, missing],
      [other.id, event, team.id, 404, missing],
      [id, event, randomIds.uuid(), 404, /^Webhook not found$/],
      [randomIds.uuid(), event, team.id, 404, /^Webhook not found$/],
      [id, 'no-uuid', team.id, 400, /^Invalid event ID$/],
      ['no-uuid', event, team.id, 400, /^Invalid webhook ID$/],
    ] as const)
      await expect(redeliverEvent(on, teamId, webhook, named)).rejects.toMatchObject({
        status,
        message: expect.stringMatching(message),
      });
    await deleteWebhook(on, team.id, id);
    await expect(again(on, id, event)).rejects.toMatchObject({ status: 404 });
    expect(fixture.received).toHaveLength(1);
  });

  it('must still be kept, and is not removed while it waits', async () => {
    const { on, id, worker, events } = await delivered(2);
    await worker.stop();
    await again(on, id, events[0]!);
    await pruneEvents(on, Date.now() + HOUR_MS);
    expect((await list(on, id)).map(({ eventId, attempts }) => [eventId, attempts.length])).toEqual([
      [events[0], 1],
    ]);
    await expect(again(on, id, events[1]!)).rejects.toMatchObject({ status: 404 });
    fixture.work(on);
    await eventually('the request', () => fixture.received.length === 3);
  });

  it('needs an enabled webhook, and stays as it was when that is disabled meanwhile', async () => {
    const { on, id, worker, event } = await delivered();
    await worker.stop();
    await again(on, id, event);
    await updateWebhook(on, team.id, id, { enabled: false });
    fixture.work(on);
    const [delivery] = await settled(on, id);
    expect(delivery).toMatchObject({ status: 'success', attempts: [{ attempt: 1 }] });
    await expect(again(on, id, event)).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/the webhook is disabled.*enable it/),
    });
    await updateWebhook(on, team.id, id, { enabled: true });
    await again(on, id, event);
    await eventually('the second request', () => fixture.received.length === 2);
  });

  it('goes to no private address unless that is allowed', async () => {
    const { on, id, worker, event } = await delivered();
    await worker.stop();
    fixture.work(fixture.context({ allowPrivateAddresses: false, retryDelaysMs: [] }));
    await again(on, id, event);
    const [delivery] = await settled(on, id);
    expect(delivery?.attempts[1]).toMatchObject({ status: 'failed', errorClass: 'request_error' });
    expect(fixture.received).toHaveLength(1);
  });

  it('counts as waiting since it was asked for', async () => {
    let clock = Date.now();
    const { on, id, worker, event } = await delivered(1, { now: () => clock });
    await worker.stop();
    clock += 100 * HOUR_MS;
    await again(on, id, event);
    clock += 7_000;
    const poolState = async () => ({ waiting: 0, wanted: 0, memoryBytes: 0, hits: 0, misses: 0 });
    const families = await backlogMetrics({ ...on, builds: { size: 0 }, driver: { poolState } } as never);
    const value = (name: string) => families.find((family) => family.name === name)?.samples[0]?.value;
    expect(value('svc_webhook_deliveries_pending')).toBe(1);
    expect(value('svc_webhook_oldest_pending_seconds')).toBe(7);
  });

  it('is not marked by a server that slept through its lease', async () => {
    const { on, id, worker, event } = await delivered();
    await worker.stop();
    await again(on, id, event);
    const [due] = await findDueDeliveries(on, id, 1);
    const hold = await leaseDelivery(on, due!);
    // Another server takes it while the answer is on its way.
    const post = async () => {
      const other = { ...on, config: { webhooks: { timeoutMs: HOUR_MS } } as never };
      expect(await leaseDelivery(other, hold!.delivery)).toBeDefined();
      return { ok: false, status: 500, errorClass: 'http_error' as const };
    };
    await attemptDelivery(
      { ...on, metrics: undefined, tracer: undefined },
      { post, close: async () => {} },
      hold!,
    );
    expect((await list(on, id))[0]).toMatchObject({ status: 'pending', attempts: [{ attempt: 1 }] });
  });
});

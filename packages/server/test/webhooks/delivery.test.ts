import { createHmac } from 'node:crypto';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listDeliveries } from '../../src/webhooks/deliveries.js';
import { createWebhook, deleteWebhook, updateWebhook } from '../../src/webhooks/records.js';
import { webhookStats } from '../../src/webhooks/stats.js';
import { dialects } from '../support/storage.js';
import { type Received, SECRET, team, WebhookFixture } from '../support/webhook-fixture.js';

describe.each(dialects)('webhook deliveries on %s', (dialect) => {
  let fixture: WebhookFixture;

  beforeEach(async () => {
    fixture = await WebhookFixture.open(dialect);
  });
  afterEach(() => fixture[Symbol.asyncDispose]());

  const until = (check: () => boolean | Promise<boolean>) =>
    vi.waitFor(async () => expect(await check()).toBe(true), { timeout: 100_000, interval: 10 });

  it('carry the event, signed so that a receiver can check it', async () => {
    const on = fixture.context();
    const hook = await fixture.webhook(on);
    fixture.work(on);
    await fixture.emit(on, 1);
    await until(() => fixture.received.length === 1);

    const [{ headers, body, event }] = fixture.received as [Received];
    expect(event).toMatchObject({ version: 'v2', type: 'sandbox.lifecycle.created', event_data: { n: 0 } });
    const signed = createHmac('sha256', SECRET)
      .update(`${event.id}.${headers['webhook-timestamp']}.${body}`)
      .digest('base64');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': event.id,
      'webhook-signature': `v1,${signed}`,
      'svc-webhook-id': hook.id,
      'svc-signature-version': 'v1',
      'svc-signature': signed,
    });
  });

  it.each([
    ['text', SECRET, Buffer.from(SECRET).toString('base64')],
    ['base64', 'whsec_c2VjcmV0IG9mIGF0IGxlYXN0IHRoaXJ0eS10d28gYnl0ZXM=', undefined],
  ])('are believed by the Standard Webhooks library, with a secret as %s', async (_, secret, asBase64) => {
    const on = fixture.context();
    await createWebhook(on, team, {
      ...{ name: 'test', url: fixture.url, events: ['sandbox.lifecycle.created'], signatureSecret: secret },
    });
    fixture.work(on);
    await fixture.emit(on, 1);
    await until(() => fixture.received.length === 1);
    const [{ headers, body, event }] = fixture.received as [Received];
    const receiver = new StandardWebhook(asBase64 ?? secret);
    const shown = headers as Record<string, string>;
    expect(receiver.verify(body, shown)).toEqual(event);
    expect(() => receiver.verify(`${body} `, shown)).toThrow('No matching signature found');
  });

  it('go only to what subscribed, was enabled and was there', async () => {
    const on = fixture.context();
    await fixture.emit(on, 1);
    const emittedAt = Date.now();
    await until(() => Date.now() > emittedAt);
    const disabled = await fixture.webhook(on);
    await updateWebhook(on, team.id, disabled.id, { enabled: false });
    await fixture.webhook(on, ['sandbox.lifecycle.killed']);
    const worker = fixture.work(on);
    await fixture.emit(on, 1, { type: 'sandbox.lifecycle.created' });
    await fixture.emit(on, 1, { type: 'sandbox.lifecycle.killed' });
    await until(() => fixture.received.length === 1);
    await worker.stop();
    expect(fixture.received.map((one) => one.event.type)).toEqual(['sandbox.lifecycle.killed']);
  });

  it('are repeated with the same id until one is taken, and every attempt is noted', async () => {
    const on = fixture.context();
    const hook = await fixture.webhook(on);
    const answers = [500, 302, 200];
    fixture.answer = () => answers.shift() ?? 200;
    fixture.work(on);
    await fixture.emit(on, 1);
    await until(() => fixture.received.length === 3);
    await until(
      async () =>
        (await listDeliveries(on.db, team.id, hook.id, { deliveryStatus: 'success' })).data.length === 1,
    );

    expect(new Set(fixture.received.map((one) => one.headers['webhook-id'])).size).toBe(1);
    expect(new Set(fixture.received.map((one) => one.headers['svc-delivery-id'])).size).toBe(3);
    const page = await listDeliveries(on.db, team.id, hook.id, {});
    expect(
      page.data[0]?.attempts.map((attempt) => [attempt.attempt, attempt.status, attempt.responseStatus]),
    ).toEqual([
      [1, 'failed', 500],
      [2, 'failed', 302],
      [3, 'success', 200],
    ]);
    expect(JSON.stringify(page)).not.toContain(fixture.received[0]?.headers['svc-signature']);
    const stats = await webhookStats(on, team.id, hook.id, {
      end: new Date(Date.now() + 1000).toISOString(),
    });
    expect(stats.totals).toEqual({ deliveries: 1, succeeded: 1, failed: 0, attempts: 3 });
    expect(stats.buckets.reduce((sum, bucket) => sum + bucket.attempts, 0)).toBe(3);
  });

  it('fail after the last retry, and do not hold up what follows', async () => {
    const on = fixture.context({ retryDelaysMs: [5, 5, 5] });
    const hook = await fixture.webhook(on);
    fixture.answer = (one) => (one.event.event_data.n === 0 ? 500 : 204);
    fixture.work(on);
    await fixture.emit(on, 2);
    await until(() => fixture.received.some((one) => one.event.event_data.n === 1));
    expect(fixture.received.map((one) => one.event.event_data.n)).toEqual([0, 0, 0, 0, 1]);
    const failed = await listDeliveries(on.db, team.id, hook.id, { deliveryStatus: 'failed' });
    expect(failed.data[0]?.attempts).toHaveLength(4);
  });

  it('never go to a private address unless that is allowed', async () => {
    const on = fixture.context({ allowPrivateAddresses: false, retryDelaysMs: [] });
    const hook = await fixture.webhook(on);
    await updateWebhook(on, team.id, hook.id, { url: fixture.url.replace('127.0.0.1', 'localhost') });
    const byAddress = await fixture.webhook(on);
    fixture.work(on);
    await fixture.emit(on, 1);
    for (const { id } of [hook, byAddress]) {
      await until(
        async () =>
          (await listDeliveries(on.db, team.id, id, { deliveryStatus: 'failed' })).data.length === 1,
      );
      const { data } = await listDeliveries(on.db, team.id, id, {});
      expect(data[0]?.attempts[0]).toMatchObject({ errorClass: 'request_error' });
    }
    expect(fixture.received).toEqual([]);
  });

  it('end with their webhook', async () => {
    const on = fixture.context({ retryDelaysMs: [60_000] });
    const hook = await fixture.webhook(on);
    fixture.answer = () => 500;
    const worker = fixture.work(on);
    await fixture.emit(on, 3);
    await until(() => fixture.received.length === 1);
    await worker.stop();
    await deleteWebhook(on, team.id, hook.id);
    for (const table of ['webhooks', 'webhook_deliveries', 'webhook_attempts'] as const)
      expect(await on.db.selectFrom(table).selectAll().execute()).toEqual([]);
  });

  it('all arrive, in order for each sandbox, though a third fails and the worker is stopped three times', async () => {
    const count = 600;
    const sandboxes = 20;
    const on = fixture.context({ retryDelaysMs: Array.from({ length: 30 }, () => 5) });
    await fixture.webhook(on);
    let asked = 0;
    fixture.answer = () => (++asked % 3 === 0 ? (asked % 2 === 0 ? undefined : 503) : 204);
    await fixture.emit(on, count, { sandboxes });
    const taken = () => new Set(fixture.received.map((one) => one.event.id)).size;
    for (const part of [0.25, 0.5, 0.75]) {
      const worker = fixture.work(on);
      await until(() => taken() >= count * part);
      await worker.stop();
    }
    fixture.work(on);
    await until(() => taken() === count);

    const last = new Map<string, number>();
    const firstArrivals = fixture.received.filter(
      (one, index) => fixture.received.findIndex((other) => other.event.id === one.event.id) === index,
    );
    for (const { event } of firstArrivals) {
      const n = event.event_data.n ?? -1;
      expect(n).toBeGreaterThan(last.get(event.sandbox_id) ?? -1);
      last.set(event.sandbox_id, n);
    }
    for (const { headers, body } of fixture.received) {
      const signed = createHmac('sha256', SECRET)
        .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
        .digest('base64');
      expect(headers['svc-signature']).toBe(signed);
    }
  });
});

import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Team } from '../../src/auth/team.js';
import { settings } from '../../src/config/settings.js';
import { withDefaults } from '../../src/config/walk.js';
import { createEventSink, type LifecycleEventType } from '../../src/events/sink.js';
import { randomIds } from '../../src/ids/ids.js';
import { createKeyRing } from '../../src/keys/key-ring.js';
import type { Storage } from '../../src/storage/open.js';
import { listDeliveries } from '../../src/webhooks/deliveries.js';
import { startWebhookWorker, type WebhookWorker } from '../../src/webhooks/delivery/worker.js';
import { createWebhook, deleteWebhook, updateWebhook } from '../../src/webhooks/records.js';
import { webhookStats } from '../../src/webhooks/stats.js';
import { createTestStorage, dialects, type TestStorage } from '../support/storage.js';

const SECRET = 'a secret of at least thirty-two characters';
const team: Team = {
  id: randomIds.uuid(),
  slug: 'test',
  name: 'Test',
  limits: withDefaults(settings.teamLimits, {}),
  flags: { egressProxy: false },
  banned: false,
  blocked: false,
  blockedReason: null,
  createdAtMs: 0,
};

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  event: { id: string; type: string; sandbox_id: string; event_data: { n?: number } };
}

describe.each(dialects)('webhook deliveries on %s', (dialect) => {
  let storage: TestStorage;
  let store: Storage;
  let receiver: Server;
  let received: Received[];
  let answer: (received: Received) => number | undefined;
  let worker: WebhookWorker | undefined;
  let abort: AbortController;

  beforeEach(async () => {
    storage = await createTestStorage(dialect);
    store = await storage.open();
    received = [];
    answer = () => 204;
    abort = new AbortController();
    receiver = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const one = { headers: request.headers, body, event: JSON.parse(body) as Received['event'] };
      const status = answer(one);
      if (status === undefined) return void request.socket.destroy();
      received.push(one);
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });

  afterEach(async () => {
    abort.abort();
    await worker?.stop();
    worker = undefined;
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
    await store.db.destroy();
    await storage.remove();
  });

  const keys = createKeyRing(randomBytes(32));
  function context(options: { retryDelaysMs?: number[]; allowPrivateAddresses?: boolean } = {}) {
    const log = { error: vi.fn(), warn: vi.fn(), info: vi.fn(), debug: vi.fn() };
    return {
      ...store,
      keys,
      ids: randomIds,
      now: Date.now,
      log: log as never,
      signal: abort.signal,
      events: createEventSink(randomIds, Date.now),
      config: {
        webhooks: {
          allowPrivateAddresses: options.allowPrivateAddresses ?? true,
          retryDelaysMs: options.retryDelaysMs ?? [10, 10, 10],
          timeoutMs: 5_000,
        },
        events: { retentionMs: 86_400_000 },
      } as never,
    };
  }
  type Context = ReturnType<typeof context>;

  const url = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const webhook = (on: Context, events: LifecycleEventType[] = ['sandbox.lifecycle.created']) =>
    createWebhook(on, team, { name: 'test', url: url(), events, signatureSecret: SECRET });

  async function emit(
    on: Context,
    count: number,
    options: { type?: LifecycleEventType; sandboxes?: number } = {},
  ) {
    const execution = randomIds.uuid();
    await on.db.transaction().execute(async (tx) => {
      for (let n = 0; n < count; n++)
        await on.events.emit(tx, {
          type: options.type ?? 'sandbox.lifecycle.created',
          teamId: team.id,
          sandboxId: `i${n % (options.sandboxes ?? 1)}`,
          executionId: execution,
          templateId: 'base',
          buildId: execution,
          data: { n },
        });
    });
    on.events.committed();
  }

  const until = (check: () => boolean | Promise<boolean>) =>
    vi.waitFor(async () => expect(await check()).toBe(true), { timeout: 100_000, interval: 10 });

  it('carry the event, signed so that a receiver can check it', async () => {
    const on = context();
    const hook = await webhook(on);
    worker = startWebhookWorker(on);
    await emit(on, 1);
    await until(() => received.length === 1);

    const [{ headers, body, event }] = received as [Received];
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
    const on = context();
    await createWebhook(on, team, {
      ...{ name: 'test', url: url(), events: ['sandbox.lifecycle.created'], signatureSecret: secret },
    });
    worker = startWebhookWorker(on);
    await emit(on, 1);
    await until(() => received.length === 1);
    const [{ headers, body, event }] = received as [Received];
    const receiver = new StandardWebhook(asBase64 ?? secret);
    const shown = headers as Record<string, string>;
    expect(receiver.verify(body, shown)).toEqual(event);
    expect(() => receiver.verify(`${body} `, shown)).toThrow('No matching signature found');
  });

  it('go only to what subscribed, was enabled and was there', async () => {
    const on = context();
    await emit(on, 1);
    const emittedAt = Date.now();
    await until(() => Date.now() > emittedAt);
    const disabled = await webhook(on);
    await updateWebhook(on, team.id, disabled.id, { enabled: false });
    await webhook(on, ['sandbox.lifecycle.killed']);
    worker = startWebhookWorker(on);
    await emit(on, 1, { type: 'sandbox.lifecycle.created' });
    await emit(on, 1, { type: 'sandbox.lifecycle.killed' });
    await until(() => received.length === 1);
    await worker.stop();
    expect(received.map((one) => one.event.type)).toEqual(['sandbox.lifecycle.killed']);
  });

  it('are repeated with the same id until one is taken, and every attempt is noted', async () => {
    const on = context();
    const hook = await webhook(on);
    const answers = [500, 302, 200];
    answer = () => answers.shift() ?? 200;
    worker = startWebhookWorker(on);
    await emit(on, 1);
    await until(() => received.length === 3);
    await until(
      async () =>
        (await listDeliveries(on.db, team.id, hook.id, { deliveryStatus: 'success' })).data.length === 1,
    );

    expect(new Set(received.map((one) => one.headers['webhook-id'])).size).toBe(1);
    expect(new Set(received.map((one) => one.headers['svc-delivery-id'])).size).toBe(3);
    const page = await listDeliveries(on.db, team.id, hook.id, {});
    expect(
      page.data[0]?.attempts.map((attempt) => [attempt.attempt, attempt.status, attempt.responseStatus]),
    ).toEqual([
      [1, 'failed', 500],
      [2, 'failed', 302],
      [3, 'success', 200],
    ]);
    expect(JSON.stringify(page)).not.toContain(received[0]?.headers['svc-signature']);
    const stats = await webhookStats(on, team.id, hook.id, {
      end: new Date(Date.now() + 1000).toISOString(),
    });
    expect(stats.totals).toEqual({ deliveries: 1, succeeded: 1, failed: 0, attempts: 3 });
    expect(stats.buckets.reduce((sum, bucket) => sum + bucket.attempts, 0)).toBe(3);
  });

  it('fail after the last retry, and do not hold up what follows', async () => {
    const on = context({ retryDelaysMs: [5, 5, 5] });
    const hook = await webhook(on);
    answer = (one) => (one.event.event_data.n === 0 ? 500 : 204);
    worker = startWebhookWorker(on);
    await emit(on, 2);
    await until(() => received.some((one) => one.event.event_data.n === 1));
    expect(received.map((one) => one.event.event_data.n)).toEqual([0, 0, 0, 0, 1]);
    const failed = await listDeliveries(on.db, team.id, hook.id, { deliveryStatus: 'failed' });
    expect(failed.data[0]?.attempts).toHaveLength(4);
  });

  it('never go to a private address unless that is allowed', async () => {
    const on = context({ allowPrivateAddresses: false, retryDelaysMs: [] });
    const hook = await webhook(on);
    await updateWebhook(on, team.id, hook.id, { url: url().replace('127.0.0.1', 'localhost') });
    const byAddress = await webhook(on);
    worker = startWebhookWorker(on);
    await emit(on, 1);
    for (const { id } of [hook, byAddress]) {
      await until(
        async () =>
          (await listDeliveries(on.db, team.id, id, { deliveryStatus: 'failed' })).data.length === 1,
      );
      const { data } = await listDeliveries(on.db, team.id, id, {});
      expect(data[0]?.attempts[0]).toMatchObject({ errorClass: 'request_error' });
    }
    expect(received).toEqual([]);
  });

  it('end with their webhook', async () => {
    const on = context({ retryDelaysMs: [60_000] });
    const hook = await webhook(on);
    answer = () => 500;
    worker = startWebhookWorker(on);
    await emit(on, 3);
    await until(() => received.length === 1);
    await worker.stop();
    await deleteWebhook(on.db, team.id, hook.id);
    for (const table of ['webhooks', 'webhook_deliveries', 'webhook_attempts'] as const)
      expect(await on.db.selectFrom(table).selectAll().execute()).toEqual([]);
  });

  it('all arrive, in order for each sandbox, though a third fails and the worker is stopped three times', async () => {
    const count = 600;
    const sandboxes = 20;
    const on = context({ retryDelaysMs: Array.from({ length: 30 }, () => 5) });
    await webhook(on);
    let asked = 0;
    answer = () => (++asked % 3 === 0 ? (asked % 2 === 0 ? undefined : 503) : 204);
    await emit(on, count, { sandboxes });
    const taken = () => new Set(received.map((one) => one.event.id)).size;
    for (const part of [0.25, 0.5, 0.75]) {
      worker = startWebhookWorker(on);
      await until(() => taken() >= count * part);
      await worker.stop();
    }
    worker = startWebhookWorker(on);
    await until(() => taken() === count);

    const last = new Map<string, number>();
    const firstArrivals = received.filter(
      (one, index) => received.findIndex((other) => other.event.id === one.event.id) === index,
    );
    for (const { event } of firstArrivals) {
      const n = event.event_data.n ?? -1;
      expect(n).toBeGreaterThan(last.get(event.sandbox_id) ?? -1);
      last.set(event.sandbox_id, n);
    }
    for (const { headers, body } of received) {
      const signed = createHmac('sha256', SECRET)
        .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
        .digest('base64');
      expect(headers['svc-signature']).toBe(signed);
    }
  });
});

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { eventually } from '@svc/runtime/testing';
import { casesOf } from '../../case.js';
import { SIGNATURE_SECRET } from '../../requests/samples.js';
import { type Api, assertFailure, assertStatus, call } from '../../wire/call.js';
import { receive } from './receiver.js';

interface Webhook {
  id: string;
  url: string;
  name: string;
  enabled: boolean;
  events: string[];
}

const EVENTS = ['created', 'killed', 'paused', 'resumed', 'updated', 'checkpointed'].map(
  (name) => `sandbox.lifecycle.${name}`,
);
const body = (more: Record<string, unknown> = {}) => ({
  name: 'hook',
  url: 'https://example.invalid/hook',
  events: ['sandbox.lifecycle.created'],
  signatureSecret: SIGNATURE_SECRET,
  ...more,
});
const make = async (api: Api, more: Record<string, unknown> = {}) =>
  assertStatus<Webhook>(await call(api, 'createWebhook', { body: body(more) }), 201);
const types = (bodies: string[]) =>
  bodies.map((text) => (JSON.parse(text) as { type: string }).type.split('.').at(-1));

/** Webhooks, their deliveries, and the events behind them. */
export const webhookCases = casesOf('webhooks', [
  {
    name: 'a webhook is made, read, changed, listed and deleted; its secret stays',
    operation: 'createWebhook',
    expects: 'success',
    run: async (target) => {
      const created = await call(target, 'createWebhook', { body: body() });
      const webhook = assertStatus<Webhook>(created, 201);
      assert.equal(webhook.enabled, true);
      const path = { webhookID: webhook.id };
      assert.deepEqual(assertStatus(await call(target, 'getWebhook', { path }), 200), webhook);
      const changed = await call(target, 'updateWebhook', {
        path,
        body: { enabled: false, name: 'other', signatureSecret: `${SIGNATURE_SECRET}2` },
      });
      assert.deepEqual(assertStatus<Webhook>(changed, 200), { ...webhook, enabled: false, name: 'other' });
      const list = await call(target, 'listWebhooks');
      assert.ok(assertStatus<Webhook[]>(list, 200).some((one) => one.id === webhook.id));
      for (const answer of [created, changed, list]) assert.ok(!answer.text.includes(SIGNATURE_SECRET));
      const deleted = await call(target, 'deleteWebhook', { path });
      assertStatus(deleted, 200);
      assert.equal(deleted.text, '');
      for (const operation of ['getWebhook', 'deleteWebhook', 'listWebhookDeliveries', 'getWebhookStats'])
        assertFailure(await call(target, operation, { path }), { status: 404, message: 'Webhook not found' });
    },
  },
  {
    name: 'webhooks that make no sense are refused',
    operation: 'createWebhook',
    expects: '400',
    run: async (target) => {
      const bad = [
        { url: 'ftp://example.com' },
        { url: 'nonsense' },
        { url: '' },
        { events: [] },
        { events: ['sandbox.lifecycle.born'] },
        { signatureSecret: 'x'.repeat(31) },
        { signatureSecret: undefined },
        { name: '' },
        { enabled: 'yes' },
      ];
      for (const more of bad)
        assertFailure(await call(target, 'createWebhook', { body: body(more) }), { status: 400 });
      const { id } = await make(target);
      for (const more of bad.slice(0, 6))
        assertFailure(await call(target, 'updateWebhook', { path: { webhookID: id }, body: more }), {
          status: 400,
        });
      for (const query of [
        { limit: 0 },
        { limit: 101 },
        { cursor: 'nonsense' },
        { deliveryStatus: 'odd' },
        { eventType: 'odd' },
        { start: 'odd' },
      ])
        assertFailure(await call(target, 'listWebhookDeliveries', { path: { webhookID: id }, query }), {
          status: 400,
        });
      assertFailure(
        await call(target, 'getWebhookStats', { path: { webhookID: id }, query: { start: 'odd' } }),
        { status: 400 },
      );
      assertStatus(await call(target, 'deleteWebhook', { path: { webhookID: id } }), 200);
    },
  },
  {
    name: 'a webhook of another team is not there',
    operation: 'updateWebhook',
    expects: '404 foreign',
    needs: ['teams'],
    run: async (target) => {
      const { id } = await make(target);
      const stranger = await target.team();
      for (const [operation, change] of [
        ['getWebhook'],
        ['updateWebhook', {}],
        ['deleteWebhook'],
        ['listWebhookDeliveries'],
        ['getWebhookStats'],
      ] as const)
        assertFailure(
          await call(stranger, operation, {
            path: { webhookID: id },
            ...(change === undefined ? {} : { body: change }),
          }),
          { status: 404 },
        );
      assertStatus(await call(target, 'deleteWebhook', { path: { webhookID: id } }), 200);
    },
  },
  {
    name: 'the cap of webhooks gives 429 without Retry-After',
    operation: 'createWebhook',
    expects: '429 cap',
    needs: ['teams'],
    run: async (target) => {
      const team = await target.team({ limits: { maxWebhooks: 1 } });
      await make(team);
      const answer = await call(team, 'createWebhook', { body: body() });
      assertFailure(answer, { status: 429 });
      assert.equal(answer.headers['retry-after'], undefined);
    },
  },
  {
    name: 'the life of a sandbox is told in order, signed, and can be read back',
    operation: 'listSandboxEvents',
    expects: 'success',
    needs: ['teams', 'receiver'],
    timeoutMs: 120_000,
    run: async (target) => {
      const team = await target.team();
      await using receiver = await receive();
      const webhook = await make(team, { url: receiver.url, events: EVENTS });
      const sandbox = await target.newSandbox({ metadata: { who: 'me' } }, team);
      const path = { sandboxID: sandbox.sandboxId };
      assertStatus(await call(team, 'setSandboxTimeout', { path, body: { timeout: 300 } }), 204);
      assertStatus(await call(team, 'refreshSandbox', { path, body: { duration: 600 } }), 204);
      assertStatus(await call(team, 'pauseSandbox', { path }), 204);
      assertStatus(await call(team, 'resumeSandbox', { path, body: { timeout: 100 } }), 201);
      assertStatus(await call(team, 'connectSandboxV2', { path, body: { timeout: 1_000 } }), 200);
      assertStatus(await call(team, 'updateSandboxNetwork', { path, body: {} }), 204);
      assertStatus(await call(team, 'killSandbox', { path }), 204);
      const wanted = ['created', 'updated', 'updated', 'paused', 'resumed', 'updated', 'updated', 'killed'];
      await eventually('all deliveries', () => (receiver.got.length >= wanted.length ? true : undefined));
      assert.deepEqual(types(receiver.got.map((one) => one.body)), wanted);
      const [first] = receiver.got;
      for (const { headers, body: text } of receiver.got) {
        const payload = JSON.parse(text) as Record<string, unknown>;
        assert.equal(headers['webhook-id'], payload.id);
        const stamp = Number(headers['webhook-timestamp']);
        assert.ok(Math.abs(Date.now() / 1000 - stamp) < 300);
        const mac = createHmac('sha256', SIGNATURE_SECRET)
          .update(`${payload.id}.${stamp}.${text}`)
          .digest('base64');
        assert.equal(headers['webhook-signature'], `v1,${mac}`);
        assert.equal(headers['svc-webhook-id'], webhook.id);
        assert.ok(headers['svc-delivery-id'] !== undefined && headers['svc-signature'] !== undefined);
        assert.equal(headers['svc-signature-version'], 'v1');
        assert.equal(payload.sandbox_id, sandbox.sandboxId);
        assert.equal(payload.sandbox_team_id, team.teamId);
        assert.equal(payload.version, 'v2');
        assert.deepEqual((payload.event_data as Record<string, unknown>).sandbox_metadata, { who: 'me' });
      }
      assert.equal(new Set(receiver.got.map((one) => one.headers['webhook-id'])).size, wanted.length);
      const killed = JSON.parse(receiver.got.at(-1)!.body) as { event_data: Record<string, unknown> };
      assert.equal(killed.event_data.kill_reason, 'request');
      assert.ok(killed.event_data.execution !== undefined);
      const events = assertStatus<{ type: string; id: string; sandboxId: string }[]>(
        await call(team, 'listSandboxEvents', { path, query: { orderAsc: true, limit: 100 } }),
        200,
      );
      assert.deepEqual(
        events.map((one) => one.type.split('.').at(-1)),
        wanted,
      );
      assert.equal(events[0]?.id, first?.headers['webhook-id']);
      const newest = assertStatus<{ id: string }[]>(
        await call(team, 'listEvents', { query: { limit: 3, offset: 1 } }),
        200,
      );
      assert.deepEqual(
        newest.map((one) => one.id),
        events
          .map((one) => one.id)
          .reverse()
          .slice(1, 4),
      );
      const only = assertStatus<{ type: string }[]>(
        await call(team, 'listEvents', {
          query: { types: ['sandbox.lifecycle.paused', 'sandbox.lifecycle.resumed'] },
        }),
        200,
      );
      assert.equal(only.length, 2);
      const hook = { webhookID: webhook.id };
      const page = await eventually('all attempts on record', async () => {
        const answer = await call(team, 'listWebhookDeliveries', {
          path: hook,
          query: { limit: 100, deliveryStatus: 'success' },
        });
        const found = assertStatus<{ data: { eventId: string; attempts: unknown[] }[] }>(answer, 200);
        return found.data.length === wanted.length ? { found, text: answer.text } : undefined;
      });
      assert.ok(page.found.data.every((one) => one.attempts.length === 1));
      assert.ok(!page.text.includes(SIGNATURE_SECRET));
      assertStatus(await call(team, 'getWebhookStats', { path: hook }), 200);
    },
  },
  {
    name: 'a receiver that fails is tried again with the same id, a redirect is a failure',
    operation: 'listWebhookDeliveries',
    expects: 'success',
    needs: ['teams', 'receiver'],
    run: async (target) => {
      const team = await target.team();
      await using receiver = await receive((index) => [500, 302, 204][index] ?? 204);
      const { id } = await make(team, { url: receiver.url });
      const sandbox = await target.newSandbox({}, team);
      await eventually('the third attempt', () => (receiver.got.length >= 3 ? true : undefined));
      assert.equal(new Set(receiver.got.map((one) => one.headers['webhook-id'])).size, 1);
      assert.equal(new Set(receiver.got.map((one) => one.headers['svc-delivery-id'])).size, 3);
      await eventually('three attempts on record', async () => {
        const answer = await call(team, 'listWebhookDeliveries', { path: { webhookID: id } });
        const { data } = assertStatus<{ data: { attempts: unknown[] }[] }>(answer, 200);
        return data[0]?.attempts.length === 3 ? true : undefined;
      });
      await call(team, 'killSandbox', { path: { sandboxID: sandbox.sandboxId } });
    },
  },
  {
    name: 'only what is subscribed is sent, and only while enabled',
    operation: 'updateWebhook',
    expects: 'success',
    needs: ['teams', 'receiver'],
    run: async (target) => {
      const team = await target.team();
      await using receiver = await receive();
      const { id } = await make(team, { url: receiver.url, events: ['sandbox.lifecycle.killed'] });
      const path = { webhookID: id };
      const one = await target.newSandbox({}, team);
      assertStatus(await call(team, 'updateWebhook', { path, body: { enabled: false } }), 200);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: one.sandboxId } }), 204);
      assertStatus(await call(team, 'updateWebhook', { path, body: { enabled: true } }), 200);
      const two = await target.newSandbox({}, team);
      assertStatus(await call(team, 'killSandbox', { path: { sandboxID: two.sandboxId } }), 204);
      await eventually('the second kill', () =>
        receiver.got.some((got) => got.body.includes(two.sandboxId)) ? true : undefined,
      );
      assert.ok(!receiver.got.some((got) => got.body.includes(one.sandboxId)), 'nothing while it was off');
      assert.deepEqual(types(receiver.got.map((got) => got.body)), ['killed']);
    },
  },
  {
    name: 'queries of events out of range are refused',
    operation: 'listEvents',
    expects: '400',
    run: async (target) => {
      for (const query of [
        { limit: 0 },
        { limit: 101 },
        { offset: -1 },
        { orderAsc: 'maybe' },
        { types: ['odd'] },
      ] as Record<string, string>[]) {
        assertFailure(await call(target, 'listEvents', { query }), { status: 400 });
        const { sandboxId } = await target.sandbox();
        assertFailure(await call(target, 'listSandboxEvents', { path: { sandboxID: sandboxId }, query }), {
          status: 400,
        });
      }
    },
  },
  {
    name: 'events of another team are not seen',
    operation: 'listSandboxEvents',
    expects: 'success',
    needs: ['teams'],
    run: async (target) => {
      const { sandboxId } = await target.sandbox();
      const stranger = await target.team();
      assert.deepEqual(
        assertStatus(await call(stranger, 'listSandboxEvents', { path: { sandboxID: sandboxId } }), 200),
        [],
      );
    },
  },
]);

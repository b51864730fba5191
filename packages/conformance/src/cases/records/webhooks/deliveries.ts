import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { eventually } from '@svc/support/eventually';
import type { Draft } from '../../../case.js';
import { SIGNATURE_SECRET } from '../../../requests/samples.js';
import { assertStatus, call } from '../../../wire/call.js';
import { make } from './calls.js';
import { receive } from './receiver.js';

const EVENTS = ['created', 'killed', 'paused', 'resumed', 'updated', 'checkpointed'].map(
  (name) => `sandbox.lifecycle.${name}`,
);

const types = (bodies: string[]) =>
  bodies.map((text) => (JSON.parse(text) as { type: string }).type.split('.').at(-1));

/** What reaches a receiver, and how it is tried again. */
export const deliveryCases: Draft[] = [
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
      await eventually('all deliveries', () => receiver.got.length >= wanted.length);
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
      await eventually('the third attempt', () => receiver.got.length >= 3);
      assert.equal(new Set(receiver.got.map((one) => one.headers['webhook-id'])).size, 1);
      assert.equal(new Set(receiver.got.map((one) => one.headers['svc-delivery-id'])).size, 3);
      await eventually('three attempts on record', async () => {
        const answer = await call(team, 'listWebhookDeliveries', { path: { webhookID: id } });
        const { data } = assertStatus<{ data: { attempts: unknown[] }[] }>(answer, 200);
        return data[0]?.attempts.length === 3;
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
      await eventually('the second kill', () => receiver.got.some((got) => got.body.includes(two.sandboxId)));
      assert.ok(!receiver.got.some((got) => got.body.includes(one.sandboxId)), 'nothing while it was off');
      assert.deepEqual(types(receiver.got.map((got) => got.body)), ['killed']);
    },
  },
];

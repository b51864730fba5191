import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { eventually } from '@svc/support/eventually';
import { check, type Draft } from '../../../case.js';
import { SIGNATURE_SECRET } from '../../../requests/samples.js';
import { kill } from '../../../requests/sandboxes.js';
import type { Target } from '../../../targets/target.js';
import { type Api, assertStatus, call, callFails, callOk } from '../../../wire/call.js';
import { make } from './calls.js';
import { receive } from './receiver.js';

const EVENTS = ['created', 'killed', 'paused', 'resumed', 'updated', 'checkpointed'].map(
  (name) => `sandbox.lifecycle.${name}`,
);

const types = (bodies: string[]) =>
  bodies.map((text) => (JSON.parse(text) as { type: string }).type.split('.').at(-1));

interface Delivery {
  eventId: string;
  status: string;
  attempts: unknown[];
}

interface Page {
  data: Delivery[];
}

/** An event of a new sandbox that a webhook has got. */
async function deliveredEvent(team: Api, target: Target, webhookID: string): Promise<string> {
  const { sandboxId } = await target.newSandbox({}, team);
  await kill(team, sandboxId);
  return await eventually('the delivery', async () => {
    const { data } = await callOk<Page>(team, 'listWebhookDeliveries', 200, { path: { webhookID } });
    return data.find(({ status }) => status === 'success')?.eventId;
  });
}

/** Deliveries to a receiver, and their retries. */
export const deliveryCases: Draft[] = [
  check(
    'the life of a sandbox is reported in order, signed, and can be read back',
    ['listSandboxEvents', 'success', { needs: ['teams', 'receiver'] }],
    async (target) => {
      const team = await target.team();
      await using receiver = await receive();
      const webhook = await make(team, { url: receiver.url, events: EVENTS });
      const sandbox = await target.newSandbox({ metadata: { who: 'me' } }, team);
      const path = { sandboxID: sandbox.sandboxId };
      await callOk(team, 'setSandboxTimeout', 204, { path, body: { timeout: 300 } });
      await callOk(team, 'refreshSandbox', 204, { path, body: { duration: 600 } });
      await callOk(team, 'pauseSandbox', 204, { path });
      await callOk(team, 'resumeSandbox', 201, { path, body: { timeout: 100 } });
      await callOk(team, 'connectSandboxV2', 200, { path, body: { timeout: 1_000 } });
      await callOk(team, 'updateSandboxNetwork', 204, { path, body: {} });
      await callOk(team, 'killSandbox', 204, { path });
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
      const events = await callOk<{ type: string; id: string; sandboxId: string }[]>(
        team,
        'listSandboxEvents',
        200,
        { path, query: { orderAsc: true, limit: 100 } },
      );
      assert.deepEqual(
        events.map((one) => one.type.split('.').at(-1)),
        wanted,
      );
      assert.equal(events[0]?.id, first?.headers['webhook-id']);
      const newest = await callOk<{ id: string }[]>(team, 'listEvents', 200, {
        query: { limit: 3, offset: 1 },
      });
      assert.deepEqual(
        newest.map((one) => one.id),
        events
          .map((one) => one.id)
          .reverse()
          .slice(1, 4),
      );
      const only = await callOk<{ type: string }[]>(team, 'listEvents', 200, {
        query: { types: ['sandbox.lifecycle.paused', 'sandbox.lifecycle.resumed'] },
      });
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
      await callOk(team, 'getWebhookStats', 200, { path: hook });
    },
  ),
  check(
    'a receiver that fails is tried again with the same id, a redirect is a failure',
    ['listWebhookDeliveries', 'success', { needs: ['teams', 'receiver'] }],
    async (target) => {
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
  ),
  check(
    'an event is delivered again, with its id and a new signature, and not while the webhook is disabled',
    ['redeliverWebhookEvent', 'success', { needs: ['teams', 'receiver'] }],
    async (target) => {
      const team = await target.team();
      await using receiver = await receive();
      const { id } = await make(team, { url: receiver.url });
      const path = { webhookID: id, eventID: await deliveredEvent(team, target, id) };
      const again = await callOk<Delivery>(team, 'redeliverWebhookEvent', 202, { path });
      assert.equal(again.eventId, path.eventID);
      assert.equal(again.status, 'pending');
      assert.equal(again.attempts.length, 1);
      await eventually('the event again', () => receiver.got.length >= 2);
      const [first, second] = receiver.got;
      assert.equal(second?.headers['webhook-id'], path.eventID);
      assert.equal(second?.body, first?.body);
      assert.notEqual(second?.headers['svc-delivery-id'], first?.headers['svc-delivery-id']);
      const mac = createHmac('sha256', SIGNATURE_SECRET)
        .update(`${path.eventID}.${second?.headers['webhook-timestamp']}.${second?.body}`)
        .digest('base64');
      assert.equal(second?.headers['webhook-signature'], `v1,${mac}`);
      await eventually('both attempts on record', async () => {
        const { data } = await callOk<Page>(team, 'listWebhookDeliveries', 200, { path });
        return data[0]?.status === 'success' && data[0].attempts.length === 2;
      });
      await callOk(team, 'updateWebhook', 200, { path, body: { enabled: false } });
      await callFails(team, 'redeliverWebhookEvent', { status: 409, message: /disabled/ }, { path });
    },
  ),
  check(
    'an event that this webhook was not sent is not delivered to it again',
    ['redeliverWebhookEvent', '404 event', { needs: ['teams', 'receiver'] }],
    async (target) => {
      const team = await target.team();
      await using receiver = await receive();
      const { id } = await make(team, { url: receiver.url });
      const eventID = await deliveredEvent(team, target, id);
      const other = await make(team, { url: receiver.url });
      await callFails(team, 'redeliverWebhookEvent', 404, { path: { webhookID: other.id, eventID } });
      assert.equal(receiver.got.length, 1);
    },
  ),
  check(
    'only what is subscribed is sent, and only while enabled',
    ['updateWebhook', 'success', { needs: ['teams', 'receiver'] }],
    async (target) => {
      const team = await target.team();
      await using receiver = await receive();
      const { id } = await make(team, { url: receiver.url, events: ['sandbox.lifecycle.killed'] });
      const path = { webhookID: id };
      const one = await target.newSandbox({}, team);
      await callOk(team, 'updateWebhook', 200, { path, body: { enabled: false } });
      await kill(team, one.sandboxId);
      await callOk(team, 'updateWebhook', 200, { path, body: { enabled: true } });
      const two = await target.newSandbox({}, team);
      await kill(team, two.sandboxId);
      await eventually('the second kill', () => receiver.got.some((got) => got.body.includes(two.sandboxId)));
      assert.ok(!receiver.got.some((got) => got.body.includes(one.sandboxId)), 'nothing while it was off');
      assert.deepEqual(types(receiver.got.map((got) => got.body)), ['killed']);
    },
  ),
];

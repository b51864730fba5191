import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { SIGNATURE_SECRET } from '../../../requests/samples.js';
import { assertFailure, assertStatus, call } from '../../../wire/call.js';
import { body, make, type Webhook } from './calls.js';

/** Webhooks as records of a team. */
export const webhookRecordCases: Draft[] = [
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
];

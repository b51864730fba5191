import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { SIGNATURE_SECRET, unknownIds } from '../../../requests/samples.js';
import { assertFailure, assertStatus, call, callFails, callOk } from '../../../wire/call.js';
import { body, make, type Webhook } from './calls.js';

/** Webhooks as records of a team. */
export const webhookRecordCases: Draft[] = [
  check(
    'a webhook is made, read, changed, listed and deleted; its secret stays',
    ['createWebhook', 'success'],
    async (target) => {
      const created = await call(target, 'createWebhook', { body: body() });
      const webhook = assertStatus<Webhook>(created, 201);
      assert.equal(webhook.enabled, true);
      const path = { webhookID: webhook.id };
      assert.deepEqual(await callOk(target, 'getWebhook', 200, { path }), webhook);
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
      const gone = { path: { ...path, eventID: unknownIds.eventID } };
      for (const operation of [
        'getWebhook',
        'deleteWebhook',
        'listWebhookDeliveries',
        'redeliverWebhookEvent',
        'getWebhookStats',
      ])
        await callFails(target, operation, { status: 404, message: 'Webhook not found' }, gone);
    },
  ),
  check('webhooks that make no sense are refused', ['createWebhook', '400'], async (target) => {
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
    for (const more of bad) await callFails(target, 'createWebhook', 400, { body: body(more) });
    const { id } = await make(target);
    for (const more of bad.slice(0, 6))
      await callFails(target, 'updateWebhook', 400, { path: { webhookID: id }, body: more });
    for (const query of [
      { limit: 0 },
      { limit: 101 },
      { cursor: 'nonsense' },
      { deliveryStatus: 'odd' },
      { eventType: 'odd' },
      { start: 'odd' },
    ])
      await callFails(target, 'listWebhookDeliveries', 400, { path: { webhookID: id }, query });
    await callFails(target, 'getWebhookStats', 400, { path: { webhookID: id }, query: { start: 'odd' } });
    await callOk(target, 'deleteWebhook', 200, { path: { webhookID: id } });
  }),
  check(
    'a webhook of another team is not there',
    ['updateWebhook', '404 foreign', { needs: ['teams'] }],
    async (target) => {
      const { id } = await make(target);
      const stranger = await target.team();
      for (const [operation, change] of [
        ['getWebhook'],
        ['updateWebhook', {}],
        ['deleteWebhook'],
        ['listWebhookDeliveries'],
        ['redeliverWebhookEvent'],
        ['getWebhookStats'],
      ] as const)
        await callFails(stranger, operation, 404, {
          path: { webhookID: id, eventID: unknownIds.eventID },
          ...(change === undefined ? {} : { body: change }),
        });
      await callOk(target, 'deleteWebhook', 200, { path: { webhookID: id } });
    },
  ),
  check(
    'the cap of webhooks gives 429 without Retry-After',
    ['createWebhook', '429 cap', { needs: ['teams'] }],
    async (target) => {
      const team = await target.team({ limits: { maxWebhooks: 1 } });
      await make(team);
      const answer = await call(team, 'createWebhook', { body: body() });
      assertFailure(answer, { status: 429 });
      assert.equal(answer.headers['retry-after'], undefined);
    },
  ),
];

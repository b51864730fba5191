import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { callFails, callOk } from '../../wire/call.js';
import { deliveryCases } from './webhooks/deliveries.js';
import { webhookRecordCases } from './webhooks/records.js';

/** Queries of events. */
const eventCases: Draft[] = [
  check('queries of events out of range are refused', ['listEvents', '400'], async (target) => {
    for (const query of [
      { limit: 0 },
      { limit: 101 },
      { offset: -1 },
      { orderAsc: 'maybe' },
      { types: ['odd'] },
    ] as Record<string, string>[]) {
      await callFails(target, 'listEvents', 400, { query });
      const { sandboxId } = await target.sandbox();
      await callFails(target, 'listSandboxEvents', 400, { path: { sandboxID: sandboxId }, query });
    }
  }),
  check(
    'events of another team are not seen',
    ['listSandboxEvents', 'success', { needs: ['teams'] }],
    async (target) => {
      const { sandboxId } = await target.sandbox();
      const stranger = await target.team();
      assert.deepEqual(
        await callOk(stranger, 'listSandboxEvents', 200, { path: { sandboxID: sandboxId } }),
        [],
      );
    },
  ),
];

/** Webhooks, their deliveries, and the events behind them. */
export const webhookCases = casesOf('webhooks', [...webhookRecordCases, ...deliveryCases, ...eventCases]);

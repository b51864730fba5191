import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { assertFailure, assertStatus, call } from '../../../wire/call.js';

/** Queries of events. */
export const eventCases: Draft[] = [
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
];

import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { assertFailure, call } from '../../../wire/call.js';
import { act } from './calls.js';

const foreign = [
  'getSandbox',
  'killSandbox',
  'pauseSandbox',
  'resumeSandbox',
  'connectSandbox',
  'connectSandboxV2',
  'setSandboxTimeout',
  'refreshSandbox',
  'forkSandbox',
  'updateSandboxNetwork',
  'createSnapshot',
];

const BODY: Record<string, unknown> = {
  connectSandbox: { timeout: 30 },
  setSandboxTimeout: { timeout: 30 },
  updateSandboxNetwork: {},
  createSnapshot: {},
};

/** Sandboxes of other teams. */
export const foreignCases: Draft[] = foreign.map((operation) =>
  check(
    `${operation} of another team's sandbox is answered as one that is not there`,
    [operation, '404 foreign', { needs: ['teams'] }],
    async (target) => {
      const sandbox = await target.sandbox();
      const stranger = await target.team();
      const answer = await act(stranger, sandbox, operation, BODY[operation]);
      const unknown = await call(stranger, operation, {
        path: { sandboxID: 'i00000000000000000000' },
        ...(BODY[operation] === undefined ? {} : { body: BODY[operation] }),
      });
      const { message } = assertFailure(answer, { status: 404 });
      assert.equal(
        message.replace(sandbox.sandboxId, '?'),
        assertFailure(unknown, { status: 404 }).message.replace('i00000000000000000000', '?'),
      );
    },
  ),
);

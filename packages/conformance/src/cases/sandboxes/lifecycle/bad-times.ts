import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertFailure, assertStatus } from '../../../wire/call.js';
import { act } from './calls.js';

const timed = [
  'resumeSandbox',
  'connectSandbox',
  'connectSandboxV2',
  'setSandboxTimeout',
  'forkSandbox',
  'refreshSandbox',
];
const fieldOf = (operation: string) => (operation === 'refreshSandbox' ? 'duration' : 'timeout');

/** Times that make no sense, or are beyond the longest life. */
export const badTimeCases: Draft[] = [
  ...timed.map((operation) =>
    check(`${operation} refuses times that make no sense`, [operation, '400 timeout'], async (target) => {
      const sandbox = await target.sandbox();
      const bad = [-1, 1.5, '15', 2 ** 40];
      if (operation === 'resumeSandbox' || operation === 'connectSandboxV2') bad.push(0);
      if (operation === 'refreshSandbox') bad.push(3_601);
      for (const value of bad)
        assertFailure(await act(target, sandbox, operation, { [fieldOf(operation)]: value }), {
          status: 400,
        });
    }),
  ),
  ...timed.map((operation) =>
    check(
      `${operation} beyond the longest life gives 400`,
      [operation, '400 timeout', { needs: ['teams'] }],
      async (target) => {
        const team = await target.team({ limits: { maxTimeToLiveSeconds: 1_800 } });
        const sandbox = await target.newSandbox({ timeout: 60 }, team);
        if (operation === 'resumeSandbox') assertStatus(await act(team, sandbox, 'pauseSandbox'), 204);
        assertFailure(await act(team, sandbox, operation, { [fieldOf(operation)]: 1_801 }), {
          status: 400,
          message: /hour/,
        });
        await kill(team, sandbox.sandboxId);
      },
    ),
  ),
];

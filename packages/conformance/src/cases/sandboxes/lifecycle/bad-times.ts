import type { Draft } from '../../../case.js';
import { assertFailure, assertStatus } from '../../../wire/call.js';
import { act } from './calls.js';

/** Times that make no sense, or are beyond the longest life. */
export const badTimeCases: Draft[] = [
  ...[
    'resumeSandbox',
    'connectSandbox',
    'connectSandboxV2',
    'setSandboxTimeout',
    'forkSandbox',
    'refreshSandbox',
  ].map(
    (operation): Draft => ({
      name: `${operation} refuses times that make no sense`,
      operation,
      expects: '400 timeout',
      run: async (target) => {
        const sandbox = await target.sandbox();
        const field = operation === 'refreshSandbox' ? 'duration' : 'timeout';
        const bad = [-1, 1.5, '15', 2 ** 40];
        if (operation === 'resumeSandbox' || operation === 'connectSandboxV2') bad.push(0);
        if (operation === 'refreshSandbox') bad.push(3_601);
        for (const value of bad)
          assertFailure(await act(target, sandbox, operation, { [field]: value }), { status: 400 });
      },
    }),
  ),
  ...[
    'resumeSandbox',
    'connectSandbox',
    'connectSandboxV2',
    'setSandboxTimeout',
    'forkSandbox',
    'refreshSandbox',
  ].map(
    (operation): Draft => ({
      name: `${operation} beyond the longest life gives 400`,
      operation,
      expects: '400 timeout',
      needs: ['teams'],
      run: async (target) => {
        const team = await target.team({ limits: { maxTimeToLiveSeconds: 1_800 } });
        const sandbox = await target.newSandbox({ timeout: 60 }, team);
        if (operation === 'resumeSandbox') assertStatus(await act(team, sandbox, 'pauseSandbox'), 204);
        const field = operation === 'refreshSandbox' ? 'duration' : 'timeout';
        assertFailure(await act(team, sandbox, operation, { [field]: 1_801 }), {
          status: 400,
          message: /hour/,
        });
        assertStatus(await act(team, sandbox, 'killSandbox'), 204);
      },
    }),
  ),
];

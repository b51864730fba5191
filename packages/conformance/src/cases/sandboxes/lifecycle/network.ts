import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { kill } from '../../../requests/sandboxes.js';
import { assertFailure, assertStatus } from '../../../wire/call.js';
import { act, read } from './calls.js';

/** The network of a sandbox that runs. */
export const networkCases: Draft[] = [
  check(
    'the network of a running sandbox is replaced',
    ['updateSandboxNetwork', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox({ network: { httpsPorts: [8_443], allowPublicTraffic: true } });
      const answer = await act(target, sandbox, 'updateSandboxNetwork', {});
      assertStatus(answer, 204);
      assert.deepEqual((await read(target, sandbox)).network?.httpsPorts, [8_443], 'the way in is untouched');
      await kill(target, sandbox.sandboxId);
    },
  ),
  check('a network that makes no sense is refused', ['updateSandboxNetwork', '400'], async (target) => {
    const sandbox = await target.sandbox();
    for (const body of [
      { denyOut: ['example.com'] },
      { allowOut: ['0.0.0.0'] },
      { allowOut: ['example.com'] },
      { rules: { '*': [] } },
      { denyOut: 'all' },
    ])
      assertFailure(await act(target, sandbox, 'updateSandboxNetwork', body), { status: 400 });
    assertFailure(
      await act(target, sandbox, 'updateSandboxNetwork', { egressProxy: { address: 'p.example.com:1' } }),
      {
        status: 403,
        message: /network\.egressProxy/,
      },
    );
  }),
];

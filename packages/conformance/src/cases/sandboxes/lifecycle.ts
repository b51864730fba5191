import assert from 'node:assert/strict';
import { casesOf, check, type Draft } from '../../case.js';
import { kill } from '../../requests/sandboxes.js';
import { assertFailure, assertStatus, call, callOk } from '../../wire/call.js';
import { daemonSend } from '../../wire/rpc.js';
import { badTimeCases } from './lifecycle/bad-times.js';
import { act, gone, read } from './lifecycle/calls.js';
import { connectCases } from './lifecycle/connect.js';
import { foreignCases } from './lifecycle/foreign.js';
import { pauseCases } from './lifecycle/pause.js';
import { timeoutCases } from './lifecycle/timeout.js';

/** The end of a sandbox, and the ids by which it is known until then. */
const killCases: Draft[] = [
  check(
    'a killed sandbox is deleted everywhere, a second kill gives 404',
    ['killSandbox', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox();
      await kill(target, sandbox.sandboxId);
      await gone(target, sandbox);
      assertFailure(await act(target, sandbox, 'killSandbox'), { status: 404 });
      const list = await callOk<{ sandboxID: string }[]>(target, 'listSandboxesV2', 200);
      assert.ok(!list.some((one) => one.sandboxID === sandbox.sandboxId));
      assert.equal((await daemonSend(sandbox, '/health')).status, 502);
    },
  ),
  check('the older form of the id is understood', ['getSandbox', 'success'], async (target) => {
    const sandbox = await target.sandbox();
    const answer = await call(target, 'getSandbox', {
      path: { sandboxID: `${sandbox.sandboxId}-svc00000` },
    });
    assert.equal(assertStatus<{ sandboxID: string }>(answer, 200).sandboxID, sandbox.sandboxId);
  }),
];

/** The network of a sandbox that runs. */
const networkCases: Draft[] = [
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

/** Kill, pause, resume, connect, timeout, refresh. */
export const lifecycleCases = casesOf('lifecycle', [
  ...killCases,
  ...foreignCases,
  ...pauseCases,
  ...badTimeCases,
  ...connectCases,
  ...timeoutCases,
  ...networkCases,
]);

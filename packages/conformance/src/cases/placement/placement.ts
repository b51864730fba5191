import assert from 'node:assert/strict';
import { eventually } from '@svc/support/eventually';
import { casesOf, check, type Draft } from '../../case.js';
import { detail, kill, pause } from '../../requests/sandboxes.js';
import type { Fault, SpecialServer, Target } from '../../targets/target.js';
import {
  assertFailure,
  assertStatus,
  call,
  callFails,
  callOk,
  type ExpectedFailure,
} from '../../wire/call.js';

const PREFIX = 'Failed to place sandbox: ';

const FAILURES: { fault: Fault; expected: ExpectedFailure }[] = [
  { fault: 'create_failed', expected: { status: 500, errorCode: 'sandbox_create_failed', message: PREFIX } },
  {
    fault: 'no_capacity',
    expected: { status: 503, errorCode: 'sandbox_capacity_unavailable', message: PREFIX },
  },
  {
    fault: 'unsupported',
    expected: { status: 503, errorCode: 'sandbox_no_compatible_node', message: PREFIX },
  },
  {
    fault: 'unknown',
    expected: { status: 500, errorCode: 'internal_server_error', message: PREFIX.trimEnd() },
  },
];

const body = { templateID: 'base', timeout: 60 };

const make = async (server: SpecialServer) =>
  await callOk<{ sandboxID: string }>(server, 'createSandboxV2', 201, { body });

async function withFault<T>(server: SpecialServer, fault: Fault, run: () => Promise<T>): Promise<T> {
  server.setFault(fault);
  try {
    return await run();
  } finally {
    server.setFault('none');
  }
}

/** A sandbox of the faulty server that is paused without memory, so that waking it needs a placement. */
async function sleeper(server: SpecialServer): Promise<string> {
  const { sandboxID } = await callOk<{ sandboxID: string }>(server, 'createSandboxV2', 201, { body });
  await callOk(server, 'pauseSandbox', 204, { path: { sandboxID }, body: { memory: false } });
  return sandboxID;
}

const faulty = (target: Target) => target.server('faulty');

/** Why a sandbox cannot be placed: each with its status and code. These take turns: they share one driver. */
export const placementCases = casesOf('placement', [
  ...FAILURES.flatMap(({ fault, expected }): Draft[] =>
    (
      ['createSandboxV2', 'createSandbox', 'resumeSandbox', 'connectSandboxV2', 'connectSandbox'] as const
    ).map((operation) =>
      check(
        `${operation} on a node that fails by ${fault} gives ${expected.status} ${expected.errorCode}`,
        [operation, `${expected.status} ${expected.errorCode}`, { needs: ['servers'], alone: true }],
        async (target) => {
          const server = await faulty(target);
          if (operation.startsWith('create')) {
            const answer = await withFault(server, fault, () => call(server, operation, { body }));
            const { message } = assertFailure(answer, expected);
            assert.ok(!message.includes('secret detail'));
            assert.deepEqual(await callOk(server, 'listSandboxesV2', 200), [], 'nothing is left');
            return;
          }
          const sandboxID = await sleeper(server);
          const answer = await withFault(server, fault, () =>
            call(server, operation, { path: { sandboxID }, body: { timeout: 60 } }),
          );
          const { message } = assertFailure(answer, expected);
          assert.ok(!message.includes('secret detail'));
          const read = await detail(server, sandboxID);
          assert.equal(read.state, 'paused', 'it can be tried again');
          await callOk(server, operation, 201, { path: { sandboxID }, body: { timeout: 60 } });
          await kill(server, sandboxID);
        },
      ),
    ),
  ),
  check(
    'a placement that takes too long gives 504, and can be tried again',
    ['createSandboxV2', '504 sandbox_placement_timeout', { needs: ['servers'], alone: true }],
    async (target) => {
      const server = await target.server('impatient');
      const asleep = [await sleeper(server), await sleeper(server), await sleeper(server)];
      await withFault(server, 'hang', () =>
        Promise.all(
          ['createSandboxV2', 'createSandbox', 'resumeSandbox', 'connectSandboxV2', 'connectSandbox'].map(
            async (operation, index) => {
              const sandboxID = asleep[index - 2];
              const options =
                sandboxID === undefined ? { body } : { path: { sandboxID }, body: { timeout: 60 } };
              await callFails(
                server,
                operation,
                { status: 504, errorCode: 'sandbox_placement_timeout', message: PREFIX },
                options,
              );
            },
          ),
        ),
      );
      const left = await callOk<{ sandboxID: string; state: string }[]>(server, 'listSandboxesV2', 200);
      assert.deepEqual(left.map((one) => one.sandboxID).sort(), [...asleep].sort(), 'nothing new is left');
      assert.ok(left.every((one) => one.state === 'paused'));
      for (const sandboxID of asleep) {
        await callOk(server, 'connectSandboxV2', 201, { path: { sandboxID }, body: { timeout: 60 } });
        await kill(server, sandboxID);
      }
    },
  ),
  check(
    'a busy node refuses a pause with 503 and continues',
    ['pauseSandbox', '503 busy', { needs: ['servers'], alone: true }],
    async (target) => {
      const server = await faulty(target);
      const { sandboxID } = await make(server);
      for (const memory of [true, false]) {
        const answer = await withFault(server, 'busy', () =>
          call(server, 'pauseSandbox', { path: { sandboxID }, body: { memory } }),
        );
        assertFailure(answer, { status: 503 });
      }
      const snapshot = await withFault(server, 'busy', () =>
        call(server, 'createSnapshot', { path: { sandboxID }, body: { memory: false } }),
      );
      assertFailure(snapshot, { status: 503 });
      const read = await detail(server, sandboxID);
      assert.equal(read.state, 'running');
      await kill(server, sandboxID);
    },
  ),
  check(
    'a server that is full gives 503 until there is room',
    ['createSandboxV2', '503 sandbox_capacity_unavailable', { needs: ['servers'], alone: true }],
    async (target) => {
      const server = await target.server('small');
      const { sandboxID } = await make(server);
      for (const operation of ['createSandboxV2', 'createSandbox']) {
        const answer = await call(server, operation, { body });
        assertFailure(answer, { status: 503, errorCode: 'sandbox_capacity_unavailable', message: PREFIX });
      }
      await pause(server, sandboxID);
      const second = await make(server);
      for (const operation of ['resumeSandbox', 'connectSandboxV2', 'connectSandbox'])
        await callFails(
          server,
          operation,
          { status: 503, errorCode: 'sandbox_capacity_unavailable', message: PREFIX },
          { path: { sandboxID }, body: { timeout: 30 } },
        );
      for (const id of [sandboxID, second.sandboxID]) await kill(server, id);
    },
  ),
  check(
    'what needs memory snapshots says so where there are none',
    ['forkSandbox', '503 memory', { needs: ['servers'], alone: true }],
    async (target) => {
      const server = await faulty(target);
      const { sandboxID } = await make(server);
      await callFails(
        server,
        'forkSandbox',
        { status: 503, errorCode: 'sandbox_feature_unsupported', message: /memory/ },
        { path: { sandboxID }, body: { count: 2 } },
      );
      await callFails(
        server,
        'createSnapshot',
        { status: 503, errorCode: 'sandbox_feature_unsupported', message: /memory/ },
        { path: { sandboxID }, body: {} },
      );
      await kill(server, sandboxID);
    },
  ),
  check(
    'volume mounts that cannot be converted give 500 with a fixed text',
    ['createSandboxV2', '500 mounts', { needs: ['servers'] }],
    async (target) => {
      const server = await target.server('broken-volumes');
      for (const operation of ['createSandboxV2', 'createSandbox']) {
        const answer = await call(server, operation, {
          body: { ...body, volumeMounts: [{ name: 'any', path: '/data' }] },
        });
        assert.equal(assertFailure(answer, { status: 500 }).message, 'failed to convert volume mounts');
      }
    },
  ),
  check(
    'a create that is under way is seen by a second one with its idempotency key',
    ['createSandboxV2', '409 idempotency_in_progress', { needs: ['servers'], alone: true }],
    async (target) => {
      const server = await faulty(target);
      const headers = { 'Idempotency-Key': `k${Date.now()}` };
      server.setFault('hold');
      const first = call(server, 'createSandboxV2', { body, headers });
      await eventually('the conflict', async () => {
        const second = await call(server, 'createSandboxV2', { body, headers });
        if (second.status !== 409) return undefined;
        assertFailure(second, { status: 409, errorCode: 'idempotency_in_progress' });
        return true;
      });
      server.setFault('none');
      const { sandboxID } = assertStatus<{ sandboxID: string }>(await first, 201);
      await kill(server, sandboxID);
    },
  ),
  check(
    'a sandbox that is being woken refuses other changes with 409',
    ['setSandboxTimeout', '409', { needs: ['servers'], alone: true }],
    async (target) => {
      const server = await faulty(target);
      const sandboxID = await sleeper(server);
      server.setFault('hold');
      const waking = call(server, 'resumeSandbox', { path: { sandboxID }, body: { timeout: 60 } });
      const bodies: Record<string, unknown> = {
        setSandboxTimeout: { timeout: 60 },
        refreshSandbox: {},
        updateSandboxNetwork: {},
        createSnapshot: { memory: false },
        forkSandbox: {},
        pauseSandbox: {},
      };
      await eventually(
        'the start of the waking',
        async () => (await call(server, 'refreshSandbox', { path: { sandboxID }, body: {} })).status === 409,
      );
      for (const [operation, sent] of Object.entries(bodies))
        await callFails(server, operation, 409, { path: { sandboxID }, body: sent });
      server.setFault('none');
      assertStatus(await waking, 201);
      await kill(server, sandboxID);
    },
  ),
]);

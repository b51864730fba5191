// A program that uses the SDK is tested without a service: the kit is the service in memory. Any test framework will
// do; this file runs with
// `node --test examples/test-an-agent.mjs`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SandboxGoneError } from '@svc/sdk';
import { TestService } from '@svc/testing';

/** The agent under test: runs steps in a sandbox, and begins anew in another one when that is taken from it. */
async function runAgent(client, steps) {
  for (let attempt = 1; ; attempt += 1) {
    const sandbox = await client.sandboxes.create({ metadata: { agent: 'builder' } });
    try {
      for (const step of steps) await sandbox.commands.run(step);
      return { attempt, report: await sandbox.files.read('report.md') };
    } catch (error) {
      if (!SandboxGoneError.is(error) || attempt === 3) throw error;
    } finally {
      await sandbox.kill();
    }
  }
}

/** A service whose sandboxes know the three steps of the agent. */
function startService() {
  return new TestService()
    .onCommand('npm ci', { stdout: 'added 3 packages\n', afterMs: 20_000 })
    .onCommand(/^npm (test|run build)$/, ({ match }) => ({ stdout: `${match[1]}: ok\n` }))
    .onCommand('node report.js', ({ sandbox }) => sandbox.files.write('report.md', '# All good\n'));
}

const steps = ['npm ci', 'npm test', 'node report.js'];

test('the agent writes its report, and leaves no sandbox behind', async () => {
  const service = startService();
  const { report } = await service.clock.runUntil(runAgent(service.client(), steps));
  assert.equal(report, '# All good\n');
  const [sandbox] = service.sandboxes;
  assert.deepEqual(
    sandbox.commands.map(({ line }) => line),
    steps,
  );
  assert.equal(sandbox.state, 'gone');
  service.close();
});

test('the agent gets its sandbox although the service refuses twice', async () => {
  const service = startService();
  const fault = service.faults.add({ operation: 'createSandboxV2', times: 2, status: 429 });
  const { attempt } = await service.clock.runUntil(runAgent(service.client(), steps));
  assert.deepEqual([attempt, fault.count], [1, 2]);
  service.close();
});

test('the agent begins anew when its sandbox is killed half-way', async () => {
  const service = startService();
  service.faults.add({ command: 'npm test', sandbox: 'killed' });
  const { attempt, report } = await service.clock.runUntil(runAgent(service.client(), steps));
  assert.deepEqual([attempt, report], [2, '# All good\n']);
  assert.equal(service.sandboxes.length, 2);
  service.close();
});

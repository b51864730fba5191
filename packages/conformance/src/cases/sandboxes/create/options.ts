import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { detail, kill } from '../../../requests/sandboxes.js';
import { daemonSend } from '../../../wire/rpc.js';
import { create } from './calls.js';

/** Options that are kept, ignored, or reach the sandbox. */
export const optionCases: Draft[] = [
  check('secure is ignored with any value', ['createSandboxV2', 'success'], async (target) => {
    const made = await create(target, { timeout: 30, secure: false });
    assert.ok(made.envdAccessToken !== undefined);
    await kill(target, made.sandboxID);
  }),
  check('options are kept and read back', ['getSandbox', 'success'], async (target) => {
    const made = await create(target, {
      timeout: 60,
      autoPause: true,
      autoResume: { enabled: true },
      mcp: { any: { thing: 1 } },
      iam: { tokens: { one: { audience: 'https://a.example.com', tokenType: 'JWT-SVID' } } },
      network: { httpsPorts: [8_443], maskRequestHost: `localhost:\${PORT}` },
    });
    const read = await detail(target, made.sandboxID);
    assert.deepEqual(read.lifecycle, { autoResume: true, onTimeout: 'pause' });
    assert.deepEqual(read.network?.httpsPorts, [8_443]);
    assert.equal(read.network?.maskRequestHost, `localhost:\${PORT}`);
    assert.equal('iam' in read, false, 'identity tokens are not read back');
    await kill(target, made.sandboxID);
  }),
  check(
    'environment variables reach the daemon with those of the platform',
    ['createSandboxV2', 'success'],
    async (target) => {
      const sandbox = await target.newSandbox({ envVars: { ONE: '1', EMPTY: '' } });
      const envs = (await daemonSend(sandbox, '/envs')).json() as Record<string, string>;
      assert.equal(envs.ONE, '1');
      assert.equal(envs.EMPTY, '');
      assert.equal(envs.SVC_SANDBOX, 'true');
      assert.equal(envs.SVC_SANDBOX_ID, sandbox.sandboxId);
      assert.equal(envs.SVC_TEMPLATE_ID, sandbox.templateId);
      await kill(target, sandbox.sandboxId);
    },
  ),
  check('private ingress comes with a token of its own', ['createSandboxV2', 'success'], async (target) => {
    const made = await create(target, { timeout: 60, network: { allowPublicTraffic: false } });
    assert.ok((made.trafficAccessToken ?? '').length >= 32);
    assert.notEqual(made.trafficAccessToken, made.envdAccessToken);
    await kill(target, made.sandboxID);
  }),
];

import assert from 'node:assert/strict';
import { check, type Draft } from '../../../case.js';
import { detail } from '../../../requests/sandboxes.js';
import { http } from './calls.js';

/** Health, metrics and environment. */
export const plainRouteCases: Draft[] = [
  check('health needs no token', ['daemon getHealth', 'success'], async (target) => {
    const answer = await http(await target.sandbox(), 'getHealth', {}, { token: null });
    assert.equal(answer.status, 204);
  }),
  check('metrics report cores, memory and disk', ['daemon getMetrics', 'success'], async (target) => {
    const answer = await http(await target.sandbox(), 'getMetrics');
    const metrics = answer.json() as Record<string, number>;
    for (const name of [
      'ts',
      'cpu_count',
      'cpu_used_pct',
      'mem_total',
      'mem_used',
      'mem_cache',
      'mem_total_mib',
      'mem_used_mib',
      'disk_used',
      'disk_total',
    ])
      assert.equal(typeof metrics[name], 'number', name);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }),
  check(
    "metrics report the sandbox's memory, cores and disk, not the machine's",
    ['daemon getMetrics', 'success', { needs: ['isolation'] }],
    async (target) => {
      const sandbox = await target.sandbox();
      const told = (await http(sandbox, 'getMetrics')).json() as Record<string, number>;
      const { cpuCount, memoryMB, diskSizeMB } = await detail(target, sandbox.sandboxId);
      assert.equal(told.cpu_count, cpuCount);
      assert.equal(told.mem_total, memoryMB * 1_048_576);
      assert.equal(told.disk_total, diskSizeMB * 1_048_576);
      assert.ok((told.mem_used ?? 0) > 0 && (told.mem_used ?? 0) <= memoryMB * 1_048_576);
      assert.ok((told.disk_used ?? 0) <= (told.disk_total ?? 0));
    },
  ),
  check('the environment is returned', ['daemon getEnvs', 'success'], async (target) => {
    const answer = await http(await target.sandbox(), 'getEnvs');
    assert.equal((answer.json() as Record<string, string>).SVC_SANDBOX, 'true');
    assert.equal(answer.headers['cache-control'], 'no-store');
  }),
  check('metrics, environment and compose need the token', ['daemon getMetrics', '401'], async (target) => {
    const sandbox = await target.sandbox();
    for (const operation of ['getMetrics', 'getEnvs'])
      for (const token of [null, 'wrong'])
        assert.equal((await http(sandbox, operation, {}, { token })).status, 401);
    const compose = {
      body: '{"source_paths":["a"],"destination":"b"}',
      headers: { 'Content-Type': 'application/json' },
    };
    assert.equal((await http(sandbox, 'composeFiles', {}, { ...compose, token: null })).status, 401);
  }),
];

import assert from 'node:assert/strict';
import type { Draft } from '../../../case.js';
import { assertStatus, call } from '../../../wire/call.js';
import { http } from './calls.js';

/** Health, metrics and environment. */
export const plainRouteCases: Draft[] = [
  {
    name: 'health needs no token',
    operation: 'daemon getHealth',
    expects: 'success',
    run: async (target) => {
      const answer = await http(await target.sandbox(), 'getHealth', {}, { token: null });
      assert.equal(answer.status, 204);
    },
  },
  {
    name: 'metrics tell cores, memory and disk',
    operation: 'daemon getMetrics',
    expects: 'success',
    run: async (target) => {
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
    },
  },
  {
    name: "metrics tell the sandbox's memory, cores and disk, not the machine's",
    operation: 'daemon getMetrics',
    expects: 'success',
    needs: ['isolation'],
    run: async (target) => {
      const sandbox = await target.sandbox();
      const told = (await http(sandbox, 'getMetrics')).json() as Record<string, number>;
      const {
        cpuCount = 0,
        memoryMB = 0,
        diskSizeMB = 0,
      } = assertStatus<Record<string, number>>(
        await call(target, 'getSandbox', { path: { sandboxID: sandbox.sandboxId } }),
        200,
      );
      assert.equal(told.cpu_count, cpuCount);
      assert.equal(told.mem_total, memoryMB * 1_048_576);
      assert.equal(told.disk_total, diskSizeMB * 1_048_576);
      assert.ok((told.mem_used ?? 0) > 0 && (told.mem_used ?? 0) <= memoryMB * 1_048_576);
      assert.ok((told.disk_used ?? 0) <= (told.disk_total ?? 0));
    },
  },
  {
    name: 'the environment is told',
    operation: 'daemon getEnvs',
    expects: 'success',
    run: async (target) => {
      const answer = await http(await target.sandbox(), 'getEnvs');
      assert.equal((answer.json() as Record<string, string>).SVC_SANDBOX, 'true');
      assert.equal(answer.headers['cache-control'], 'no-store');
    },
  },
  {
    name: 'metrics, environment and compose need the token',
    operation: 'daemon getMetrics',
    expects: '401',
    run: async (target) => {
      const sandbox = await target.sandbox();
      for (const operation of ['getMetrics', 'getEnvs'])
        for (const token of [null, 'wrong'])
          assert.equal((await http(sandbox, operation, {}, { token })).status, 401);
      const compose = {
        body: '{"source_paths":["a"],"destination":"b"}',
        headers: { 'Content-Type': 'application/json' },
      };
      assert.equal((await http(sandbox, 'composeFiles', {}, { ...compose, token: null })).status, 401);
    },
  },
];

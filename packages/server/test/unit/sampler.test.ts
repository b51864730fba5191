import { expect, it } from 'vitest';
import type { ServerContext } from '../../src/context/context.js';
import { newLive } from '../../src/sandbox-state/live.js';
import { sampleAll } from '../../src/telemetry/sampler.js';

it('passes over a sandbox that was killed while those before it were read', async () => {
  const warnings: object[] = [];
  const stored: { sandbox_id: string }[] = [];
  const stats = {
    cpuUsageUs: 0,
    cpuCount: 1,
    memoryBytes: 0,
    memoryLimitBytes: 1,
    memoryCacheBytes: 0,
    diskUsedBytes: 0,
    diskLimitBytes: 1,
    pids: 1,
  };
  // One more than are read at a time.
  const sandboxes = Array.from({ length: 9 }, (_, index) => ({
    ...newLive({ id: `s${index}`, team_id: 't', state: 'running' } as never),
    logsRetryAt: Number.POSITIVE_INFINITY,
    instance: {
      stats: async () => {
        sandboxes[8]!.instance = undefined as never;
        return stats;
      },
    } as never,
  }));
  const insert = {
    values: (rows: { sandbox_id: string }[]) => {
      stored.push(...rows);
      return insert;
    },
    onConflict: () => insert,
    execute: async () => [],
  };
  const context = {
    sandboxes,
    now: () => 1_000,
    log: { warn: (fields: object) => warnings.push(fields), debug: () => {} },
    db: { insertInto: () => insert },
  } as unknown as ServerContext;
  await sampleAll(context, new Map());
  expect(warnings).toEqual([]);
  expect(stored.map((row) => row.sandbox_id)).toEqual(['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7']);
});

import { describe, expect, it } from 'vitest';
import type { ServerContext } from '../../src/context/context.js';
import { newLive } from '../../src/sandbox-state/live.js';
import { isDue, nextLook } from '../../src/sandbox-state/logs-look.js';
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
  const sandboxes = Array.from({ length: 33 }, (_, index) => ({
    ...newLive({ id: `s${index}`, team_id: 't', state: 'running' } as never),
    logsLook: nextLook(undefined, undefined, 1_000, 0),
    instance: {
      stats: async () => {
        sandboxes[32]!.instance = undefined as never;
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
  expect(stored.map((row) => row.sandbox_id)).toEqual(Array.from({ length: 32 }, (_, index) => `s${index}`));
});

describe('the logs of a sandbox are taken over', () => {
  const found = (waits: number) => {
    let look = nextLook(undefined, 7, 0, 0);
    for (let round = 0; round < waits; round++) look = nextLook(look, 7, 0, 0);
    return look;
  };
  it.each([
    ['at once where nobody has looked yet', undefined, 0, 0, true],
    ['at the next turn where there were lines', found(0), 1, 0, true],
    ['less and less often where there were none', found(1), 4_999, 0, false],
    ['after five seconds where there were none', found(1), 5_000, 0, true],
    ['after ten seconds where there were none twice', found(2), 9_999, 0, false],
    ['at least every half minute', found(20), 30_000, 0, true],
    ['earlier where the sandbox did something', found(20), 1, 4_001, true],
    ['not for what its daemon did to answer', found(20), 1, 4_000, false],
    ['where it was booted anew', nextLook(found(20), 7, 0, 9_000), 1, 100, true],
    ['not soon where the daemon failed', nextLook(found(0), undefined, 0, 0), 29_999, 9_999_999, false],
    ['later where the daemon failed', nextLook(found(0), undefined, 0, 0), 30_000, 0, true],
  ])('%s', (_title, look, now, cpuUsageUs, expected) => {
    expect(isDue(look, now, cpuUsageUs)).toBe(expected);
  });
});

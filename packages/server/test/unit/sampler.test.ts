import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '#support/eventually';
import type { ServerContext } from '../../src/process/context.js';
import { newLive } from '../../src/sandboxes/state/live.js';
import { isDue, nextLook } from '../../src/sandboxes/state/logs-look.js';
import { sampleAll } from '../../src/sandboxes/telemetry/sampler.js';
import type { Database } from '../../src/storage/schema.js';
import { createTestStorage, type TestStorage } from '../support/storage.js';

describe('a round of samples', () => {
  let storage: TestStorage;
  let db: Database;
  beforeEach(async () => {
    storage = await createTestStorage('sqlite');
    ({ db } = await storage.open());
  });
  afterEach(async () => {
    await db.destroy();
    await storage.remove();
  });

  const stored = async () =>
    (await db.selectFrom('sandbox_metrics').select('sandbox_id').execute())
      .map((row) => row.sandbox_id)
      .sort();
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

  it('passes over a sandbox that was killed while those before it were read', async () => {
    const warnings: object[] = [];
    // One more than are read at a time.
    const sandboxes = Array.from({ length: 65 }, (_, index) => ({
      ...newLive({ id: `s${index}`, team_id: 't', state: 'running' } as never),
      logsLook: nextLook(undefined, undefined, 1_000, 0),
      instance: {
        stats: async () => {
          sandboxes[64]!.instance = undefined as never;
          return stats;
        },
      } as never,
    }));
    const context = {
      sandboxes,
      now: () => 1_000,
      log: { warn: (fields: object) => warnings.push(fields), debug: () => {} },
      db,
      dialect: 'sqlite',
    } as unknown as ServerContext;
    await sampleAll(context, new Map());
    expect(warnings).toEqual([]);
    expect(await stored()).toEqual(Array.from({ length: 64 }, (_, index) => `s${index}`).sort());
  });

  it('asks all daemons for logs though some of them do not answer, and stores the samples before', async () => {
    const asked: string[] = [];
    const log = { warn: () => {}, debug: () => {} };
    const storedFirst: number[] = [];
    let end: (error: Error) => void = () => {};
    const mute = new Promise<never>((_, reject) => {
      end = reject;
    });
    const sandboxes = Array.from({ length: 80 }, (_, index) => ({
      ...newLive({ id: `s${index}`, team_id: 't', state: 'running', daemon_generation: 0 } as never),
      logCursor: 0,
      instance: {
        stats: async () => stats,
        dial: async () => {
          asked.push(`s${index}`);
          storedFirst.push((await stored()).length);
          // All but one of those that are asked at a time.
          return index < 31 ? mute : Promise.reject(new Error('no daemon'));
        },
      } as never,
    }));
    const keys = { sign: () => 'token' };
    const context = {
      sandboxes,
      now: () => 1_000,
      log,
      db,
      dialect: 'sqlite',
      keys,
    } as unknown as ServerContext;
    const round = sampleAll(context, new Map());
    await eventually('the others were asked', () => asked.length === 80);
    end(new Error('it ends'));
    await round;
    expect(new Set(storedFirst)).toEqual(new Set([80]));
  });
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

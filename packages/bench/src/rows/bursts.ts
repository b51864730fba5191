import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@svc/sdk';
import { type BenchContext, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { createAndRun } from '../support/sandboxes.js';
import { startServerChild } from '../support/server-child.js';

/** Sandboxes of one burst, far more than wait at first. */
const AT_ONCE = 20;
/** From one burst to the next, ms: what comes sooner is the same burst to the pool. */
const EVERY_MS = 12_000;
/** Bursts after which the pool knows what to expect. */
const LEARNING = 2;

/** Bursts of creates with a first command each, every so often; those that come once the pool could know, ms each. */
async function bursts(context: BenchContext, poolMemoryMiB: number | undefined): Promise<number[]> {
  await using server = await startServerChild({
    driver: context.driver,
    poolSize: 4,
    ...(poolMemoryMiB === undefined ? {} : { poolMemoryMiB }),
  });
  const client = new Client({ ...server, requestTimeoutMs: 60_000 });
  const series: number[] = [];
  const learning = runs(context, LEARNING, 0);
  const count = learning + runs(context, 3, 1);
  for (let burst = 0; burst < count; burst++) {
    const made = await Promise.all(
      Array.from({ length: runs(context, AT_ONCE, 2) }, () => createAndRun(client)),
    );
    if (burst >= learning) series.push(...made.map(({ ms }) => ms));
    for (const { value } of made) await value.kill();
    if (!context.quick) await sleep(EVERY_MS);
    await server.poolReady();
  }
  return series;
}

export const burstsAgain: Row = {
  id: 'bursts',
  about: 'a burst of creates that comes again: a pool that follows demand beside one that does not',
  async run(context) {
    context.progress('a pool of 4');
    const fixed = summarize(await bursts(context, 0));
    context.progress('a pool of 4 that may grow');
    const adaptive = summarize(await bursts(context, undefined));
    return [
      {
        id: 'bursts.p50',
        what: `${AT_ONCE} at once every ${EVERY_MS / 1000} s, from the third on, from a pool of 4 that grew, p50`,
        value: adaptive.p50,
        unit: 'ms',
        beside: [{ name: 'from a pool that stays at 4', value: fixed.p50, unit: 'ms' }],
        how: `3 bursts, ${context.driver} driver`,
      },
      {
        id: 'bursts.p95',
        what: '… p95',
        value: adaptive.p95,
        unit: 'ms',
        beside: [{ name: 'from a pool that stays at 4', value: fixed.p95, unit: 'ms' }],
        how: `3 bursts, ${context.driver} driver`,
      },
    ];
  },
};

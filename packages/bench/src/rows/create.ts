import { Client } from '@svc/sdk';
import { atLeast, type BenchContext, below, type Figure, type Row, runs } from '../row.js';
import { summarize } from '../statistics.js';
import { driverFloor } from '../support/driver-floor.js';
import { createAndRun } from '../support/sandboxes.js';
import { startServerChild } from '../support/server-child.js';

async function sequential(context: BenchContext, poolSize: number, count: number): Promise<number[]> {
  await using server = await startServerChild({ driver: context.driver, poolSize });
  const client = new Client(server);
  const series: number[] = [];
  for (let round = -2; round < count; round++) {
    if (poolSize > 0) await server.poolReady();
    const { ms, value } = await createAndRun(client);
    await value.kill();
    if (round >= 0) series.push(ms);
  }
  return series;
}

async function atOnce(
  context: BenchContext,
  count: number,
  { delayMs = 0, poolSize = 0 },
): Promise<{ series: number[]; failed: number }> {
  await using server = await startServerChild({ driver: context.driver, poolSize });
  const client = new Client({ ...server, requestTimeoutMs: 60_000 });
  await (await createAndRun(client)).value.kill();
  if (poolSize > 0) await server.poolReady();
  const results = await Promise.allSettled(
    Array.from({ length: count }, async (_, index) => {
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, index * delayMs));
      return createAndRun(client);
    }),
  );
  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  for (const { value } of made) await value.kill();
  return { series: made.map((one) => one.ms), failed: count - made.length };
}

export const create: Row = {
  id: 'create',
  about: 'create + first command: from the pool, cold, staggered, and 100 at once',
  async run(context) {
    const few = runs(context, 30, 1);
    const many = runs(context, 100, 2);
    context.progress('from the pool, one after another');
    const pooled = summarize(await sequential(context, 4, few));
    context.progress('cold, one after another');
    const cold = summarize(await sequential(context, 0, few));
    context.progress('the driver alone');
    const floor = await driverFloor(context, few);
    context.progress('staggered by 200 ms');
    const staggered = await atOnce(context, runs(context, 30, 2), { delayMs: 200 });
    context.progress(`${many} at once`);
    const burst = await atOnce(context, many, {});
    const burstSummary = summarize(burst.series);
    context.progress(`${many} at once from a pool of as many`);
    const stocked = await atOnce(context, many, { poolSize: many });
    const stockedSummary = summarize(stocked.series);
    const success = ((2 * many - burst.failed - stocked.failed) / (2 * many)) * 100;
    const staggeredSummary = summarize(staggered.series);
    const how = `${few} runs, ${context.driver} driver`;
    const driver = (name: string, value: number | undefined): Figure['beside'] =>
      value === undefined ? [] : [{ name, value, unit: 'ms' }];
    return [
      {
        id: 'create.pool.p50',
        what: 'create + first command, from the pool, p50',
        value: pooled.p50,
        unit: 'ms',
        beside: driver('the driver alone', floor?.pooled),
        target: below(pooled.p50, 10, '<= 10 ms'),
        how,
      },
      {
        id: 'create.pool.p95',
        what: '… p95',
        value: pooled.p95,
        unit: 'ms',
        beside: [],
        target: below(pooled.p95, 25, '<= 25 ms'),
        how,
      },
      {
        id: 'create.cold.p50',
        what: 'create + first command, cold, p50',
        value: cold.p50,
        unit: 'ms',
        beside: driver('the driver alone', floor?.cold),
        target: below(cold.p50, 90, '<= 90 ms'),
        how,
      },
      {
        id: 'create.staggered',
        what: '… one every 200 ms, cold, p50',
        value: staggeredSummary.p50,
        unit: 'ms',
        beside: [{ name: 'p95', value: staggeredSummary.p95, unit: 'ms' }],
        how: `${staggered.series.length} runs`,
      },
      {
        id: 'create.burst.p95',
        what: `${many} at once, p95`,
        value: burstSummary.p95,
        unit: 'ms',
        beside: [{ name: 'median', value: burstSummary.p50, unit: 'ms' }],
        target: below(burstSummary.p95, 4_500, '<= 4.5 s'),
        how: `cold, ${context.driver} driver`,
      },
      {
        id: 'create.burst.pool.p95',
        what: '… from a pool of as many, p95',
        value: stockedSummary.p95,
        unit: 'ms',
        beside: [{ name: 'median', value: stockedSummary.p50, unit: 'ms' }],
        target: below(stockedSummary.p95, 1_200, '<= 1.2 s'),
        how: `${context.driver} driver`,
      },
      {
        id: 'create.burst.success',
        what: '… success of both',
        value: success,
        unit: '%',
        beside: [],
        target: atLeast(success, 100, '100 %'),
        how: '',
      },
    ];
  },
};

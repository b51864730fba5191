import { DriverError } from '@svc/runtime/contract';
import { concurrently } from '../../api/context/concurrent.js';
import type { Uses } from '../context.js';
import type { LiveSandbox } from '../state/live.js';
import { isDue, nextLook } from '../state/logs-look.js';
import { collectLogs } from './collect-logs.js';
import { sampleOf } from './metrics.js';
import { type Sample, storeSamples } from './store-samples.js';

/** Readings before the last, for the CPU share. */
export type CpuMemory = Map<string, { cpuUsageUs: number; at: number }>;

/** Sandboxes that the driver reads in one call: as many as `svc-runtime` takes at once. */
const READ_AT_ONCE = 64;
/** Daemons that are asked for logs at the same time. */
const LOOK_AT_ONCE = 32;

type Context = Uses<'config' | 'db' | 'dialect' | 'keys' | 'log' | 'now' | 'sandboxes'>;

/** A sandbox whose logs are to be taken over, and the processor time that it had used until then. */
interface Look {
  live: LiveSandbox;
  cpuUsageUs: number;
}

/** Reads what every running sandbox uses, and collects its logs. */
export async function sampleAll(context: Context, memory: CpuMemory): Promise<void> {
  const running = [...context.sandboxes.values()].filter(
    (live) => live.instance !== undefined && live.row.state === 'running' && live.transition === undefined,
  );
  const alive = new Set(running.map((live) => live.row.id));
  for (const id of memory.keys()) if (!alive.has(id)) memory.delete(id);
  const samples: Sample[] = [];
  const looks: Look[] = [];
  for (let at = 0; at < running.length; at += READ_AT_ONCE)
    await Promise.all(
      running.slice(at, at + READ_AT_ONCE).map(async (live) => {
        const { instance } = live;
        // Killed or paused while others were read.
        if (instance === undefined || live.transition !== undefined) return;
        await observe(context, live, async () => {
          const stats = await instance.stats();
          const now = context.now();
          samples.push(sampleOf(live.row, now, stats, memory.get(live.row.id)));
          memory.set(live.row.id, { cpuUsageUs: stats.cpuUsageUs, at: now });
          const { cpuUsageUs } = stats;
          if (isDue(live.logsLook, now, cpuUsageUs)) looks.push({ live, cpuUsageUs });
        });
      }),
    );
  // First: they are of now, and a daemon that is slow to give its logs must not delay them.
  await storeSamples(context, samples);
  await concurrently(looks, LOOK_AT_ONCE, async ({ live, cpuUsageUs }) => {
    if (live.instance === undefined || live.transition !== undefined) return;
    await observe(context, live, () => takeLogs(context, live, cpuUsageUs));
  });
}

/** Sandboxes may end while they are sampled. Any other failure means missing logs, so it is reported. */
async function observe(context: Uses<'log'>, live: LiveSandbox, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const level = DriverError.is(error) ? 'debug' : 'warn';
    context.log[level]({ err: error, sandboxId: live.row.id }, 'a sandbox could not be observed');
  }
}

async function takeLogs(
  context: Uses<'config' | 'db' | 'keys' | 'now'>,
  live: LiveSandbox,
  cpuUsageUs: number,
): Promise<void> {
  const last = live.logsLook;
  let cursor: number | undefined;
  try {
    cursor = await collectLogs(context, live, { timeoutMs: 2_000, resting: true });
  } finally {
    live.logsLook = nextLook(last, cursor, context.now(), cpuUsageUs);
  }
}

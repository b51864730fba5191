import { DriverError } from '@svc/runtime';
import type { Insertable } from 'kysely';
import type { Uses } from '../context/context.js';
import type { LiveSandbox } from '../sandbox-state/live.js';
import { isDue, nextLook } from '../sandbox-state/logs-look.js';
import type { SandboxMetricsTable } from '../storage/schema.js';
import { collectLogs } from './collect-logs.js';
import { sampleOf } from './metrics.js';

/** Readings before the last, for the CPU share. */
export type CpuMemory = Map<string, { cpuUsageUs: number; at: number }>;

/** Sandboxes that the driver reads in one call. */
const AT_ONCE = 32;

/** Reads what every running sandbox uses, and collects its logs. */
export async function sampleAll(
  context: Uses<'config' | 'db' | 'keys' | 'log' | 'now' | 'sandboxes'>,
  memory: CpuMemory,
): Promise<void> {
  const samples: Insertable<SandboxMetricsTable>[] = [];
  const running = [...context.sandboxes.values()].filter(
    (live) => live.instance !== undefined && live.row.state === 'running' && live.transition === undefined,
  );
  const alive = new Set(running.map((live) => live.row.id));
  for (const id of memory.keys()) if (!alive.has(id)) memory.delete(id);
  for (let at = 0; at < running.length; at += AT_ONCE)
    await Promise.all(
      running.slice(at, at + AT_ONCE).map(async (live) => {
        const { instance } = live;
        // Killed or paused while others were read.
        if (instance === undefined || live.transition !== undefined) return;
        try {
          const stats = await instance.stats();
          const now = context.now();
          samples.push(sampleOf(live.row, now, stats, memory.get(live.row.id)));
          memory.set(live.row.id, { cpuUsageUs: stats.cpuUsageUs, at: now });
          if (isDue(live.logsLook, now, stats.cpuUsageUs)) await takeLogs(context, live, stats.cpuUsageUs);
        } catch (error) {
          // Sandboxes may end while they are sampled. Any other failure means missing logs, so it is reported.
          const level = DriverError.is(error) ? 'debug' : 'warn';
          context.log[level]({ err: error, sandboxId: live.row.id }, 'a sandbox could not be observed');
        }
      }),
    );
  for (let at = 0; at < samples.length; at += 50)
    await context.db
      .insertInto('sandbox_metrics')
      .values(samples.slice(at, at + 50))
      .onConflict((conflict) => conflict.columns(['sandbox_id', 'at']).doNothing())
      .execute();
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

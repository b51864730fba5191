import { setTimeout as delay } from 'node:timers/promises';
import type { components } from '@svc/daemon';
import type { Instance } from '@svc/runtime/contract';
import { sampleOf } from './metrics.js';

type DaemonMetrics = components['schemas']['DaemonMetrics'];

/** Time for which processor use is measured, ms. */
const SPAN_MS = 50;
const MIB = 1_048_576;

/** Measures the present use of a sandbox, with its limits. Takes 50 ms. @throws {DriverError} when its instance ended */
export async function daemonMetrics(
  instance: Instance,
  sandbox: Parameters<typeof sampleOf>[0],
  now: () => number,
): Promise<DaemonMetrics> {
  const beganAt = performance.now();
  const before = await instance.stats();
  await delay(SPAN_MS);
  const stats = await instance.stats();
  const at = now();
  const elapsed = performance.now() - beganAt;
  const sample = sampleOf(sandbox, at, stats, { cpuUsageUs: before.cpuUsageUs, at: at - elapsed });
  return {
    ts: Math.floor(at / 1000),
    cpu_count: sample.cpu_count,
    cpu_used_pct: sample.cpu_used_pct,
    mem_total: sample.mem_total,
    mem_used: sample.mem_used,
    mem_cache: sample.mem_cache,
    mem_total_mib: Math.round(sample.mem_total / MIB),
    mem_used_mib: Math.round(sample.mem_used / MIB),
    disk_used: sample.disk_used,
    disk_total: sample.disk_total,
  };
}

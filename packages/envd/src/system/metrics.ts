import { readFile, statfs } from 'node:fs/promises';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** @wire GET /metrics. Sizes in bytes, `_mib` in MiB; `ts` in seconds since 1970. */
export interface Metrics {
  ts: number;
  cpu_count: number;
  /** 0..100 over all processors. */
  cpu_used_pct: number;
  mem_total: number;
  mem_used: number;
  mem_cache: number;
  mem_total_mib: number;
  mem_used_mib: number;
  disk_used: number;
  disk_total: number;
}

const MIB = 1024 * 1024;
const SAMPLE_MS = 50;

/** Measures the sandbox: by its cgroup where that is visible, else by the machine. Takes about 50 ms. */
export async function readMetrics(now: () => number): Promise<Metrics> {
  const [cpuCount, memory, disk, usedPct] = await Promise.all([
    readCpuCount(),
    readMemory(),
    readDisk(),
    sampleCpu(),
  ]);
  return {
    ts: Math.floor(now() / 1000),
    cpu_count: cpuCount,
    cpu_used_pct: Math.min(100, Math.round((usedPct / cpuCount) * 100) / 100),
    mem_total: memory.total,
    mem_used: memory.used,
    mem_cache: memory.cache,
    mem_total_mib: Math.round(memory.total / MIB),
    mem_used_mib: Math.round(memory.used / MIB),
    disk_used: disk.used,
    disk_total: disk.total,
  };
}

async function readCpuCount(): Promise<number> {
  const [quota, period] = ((await text('/sys/fs/cgroup/cpu.max')) ?? '').trim().split(' ').map(Number);
  const v1Quota = await number('/sys/fs/cgroup/cpu/cpu.cfs_quota_us');
  const v1Period = await number('/sys/fs/cgroup/cpu/cpu.cfs_period_us');
  const cores =
    quota && period ? quota / period : v1Quota && v1Quota > 0 && v1Period ? v1Quota / v1Period : undefined;
  return cores === undefined ? availableParallelism() : Math.max(1, Math.round(cores));
}

// Percent of one processor, over a short while.
async function sampleCpu(): Promise<number> {
  const [beforeMs, begin] = [await cpuTimeMs(), performance.now()];
  await delay(SAMPLE_MS);
  const [afterMs, end] = [await cpuTimeMs(), performance.now()];
  return Math.max(0, ((afterMs - beforeMs) / (end - begin)) * 100);
}

async function cpuTimeMs(): Promise<number> {
  const v2 = /^usage_usec (\d+)/m.exec((await text('/sys/fs/cgroup/cpu.stat')) ?? '');
  if (v2) return Number(v2[1]) / 1000;
  const v1 = await number('/sys/fs/cgroup/cpuacct/cpuacct.usage');
  if (v1 !== undefined) return v1 / 1e6;
  let busy = 0;
  for (const { times } of cpus()) busy += times.user + times.nice + times.sys + times.irq;
  return busy;
}

async function readMemory(): Promise<{ total: number; used: number; cache: number }> {
  const info = (await text('/proc/meminfo')) ?? '';
  const kib = (name: string) => Number(new RegExp(`^${name}: +(\\d+)`, 'm').exec(info)?.[1] ?? 0) * 1024;
  const host = {
    total: totalmem(),
    used: totalmem() - freemem() - kib('Cached') - kib('Buffers'),
    cache: kib('Cached'),
  };
  const v2 = await number('/sys/fs/cgroup/memory.current');
  const v1 = v2 === undefined ? await number('/sys/fs/cgroup/memory/memory.usage_in_bytes') : undefined;
  const usage = v2 ?? v1;
  if (usage === undefined) return host;
  const folder = v2 === undefined ? '/sys/fs/cgroup/memory/' : '/sys/fs/cgroup/';
  const limit = await number(`${folder}${v2 === undefined ? 'memory.limit_in_bytes' : 'memory.max'}`);
  const stat = (await text(`${folder}memory.stat`)) ?? '';
  const cache = Number(/^(?:total_cache|file|cache) (\d+)/m.exec(stat)?.[1] ?? 0);
  // "No limit" is `max` on v2 and a number near 2^63 on v1.
  const total = limit !== undefined && limit < host.total ? limit : host.total;
  return { total, used: Math.max(0, usage - cache), cache };
}

async function readDisk(): Promise<{ used: number; total: number }> {
  try {
    const { bsize, blocks, bfree } = await statfs('/');
    return { total: blocks * bsize, used: (blocks - bfree) * bsize };
  } catch {
    return { total: 0, used: 0 };
  }
}

async function text(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

async function number(path: string): Promise<number | undefined> {
  const value = Number.parseInt((await text(path)) ?? '', 10);
  return Number.isNaN(value) ? undefined : value;
}

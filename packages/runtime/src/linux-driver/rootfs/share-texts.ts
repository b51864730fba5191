import type { InstanceLimits } from '../../contract/instance.js';

/** The limits and the use of an instance. */
export interface Share {
  limits: InstanceLimits;
  usage: { cpuUsageUs: number; memoryBytes: number; memoryCacheBytes: number; pids: number };
  /** Processors in use, averaged over 1, 5 and 15 minutes. */
  load: readonly [number, number, number];
  /** The time that it has been running, ms. */
  upMs: number;
}

/** The contents of the host's files. */
export interface HostTexts {
  cpuinfo: string;
  stat: string;
  meminfo: string;
}

const KIB = 1024;
const MS_PER_TICK = 10;

/**
 * The files of `/proc` and `/sys` that show an instance its own share. The length of those that change never does: they are
 * written over while programs read them. Pure.
 */
export function shareTexts(share: Share, host: HostTexts) {
  const processors = host.cpuinfo.split(/\n\n+/).filter((block) => /^processor\s*:/m.test(block));
  const count = Math.min(
    processors.length,
    Math.max(1, Math.ceil(share.limits.cpuCount ?? processors.length)),
  );
  return {
    cpuinfo: processors
      .slice(0, count)
      .map((block) => `${block.trim()}\n\n`)
      .join(''),
    online: count === 1 ? '0\n' : `0-${count - 1}\n`,
    stat: statText(share, host, count),
    meminfo: memoryText(share, host),
    loadavg: `${share.load.map((each) => each.toFixed(2).padStart(6, '0')).join(' ')} 1/${pad(share.usage.pids, 6)} ${pad(share.usage.pids, 6)}\n`,
  };
}

/** Programs count the processors in it, and read from differences how busy they are. */
function statText({ usage, upMs }: Share, host: HostTexts, count: number): string {
  const busy = Math.round(usage.cpuUsageUs / 1000 / MS_PER_TICK);
  const all = Math.max(busy, Math.round((upMs / MS_PER_TICK) * count));
  const line = (name: string, part: number) =>
    `${name} ${pad(busy / part, 12)} 0 0 ${pad((all - busy) / part, 12)} 0 0 0 0 0 0\n`;
  const each = Array.from({ length: count }, (_, index) => line(`cpu${index}`, count)).join('');
  const btime = /^btime \d+$/m.exec(host.stat)?.[0] ?? 'btime 0';
  return `${line('cpu ', 1)}${each}${btime}\nprocesses ${pad(usage.pids, 8)}\nprocs_running 1\nprocs_blocked 0\n`;
}

function memoryText({ limits, usage }: Share, host: HostTexts): string {
  const total = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(host.meminfo)?.[1] ?? 0);
  const limit = limits.memoryMiB === undefined ? total('MemTotal') : limits.memoryMiB * KIB;
  const cached = Math.min(limit, Math.round(usage.memoryCacheBytes / KIB));
  const free = Math.max(0, limit - Math.round(usage.memoryBytes / KIB));
  const fields = {
    MemTotal: limit,
    MemFree: free,
    MemAvailable: Math.min(limit, free + cached),
    Buffers: 0,
    Cached: cached,
    SwapCached: 0,
    Active: Math.max(0, limit - free - cached),
    Inactive: cached,
    SwapTotal: 0,
    SwapFree: 0,
    Dirty: 0,
    AnonPages: Math.max(0, limit - free - cached),
    Mapped: 0,
    Shmem: 0,
    SReclaimable: 0,
    CommitLimit: limit,
    Committed_AS: limit - free,
  };
  return Object.entries(fields)
    .map(([name, kib]) => `${`${name}:`.padEnd(16)}${String(kib).padStart(12)} kB\n`)
    .join('');
}

function pad(value: number, width: number): string {
  return String(Math.round(value)).padStart(width, '0');
}

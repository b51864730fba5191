import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import type { InstanceStats } from '../contract/instance.js';
import { directorySize } from '../shared/directory-size.js';
import { findMembers, type TreeRoot } from './process-tree.js';

/** Ticks per second of the kernel's accounting; fixed on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
/** Walking a big home directory is dear: at most this part of the time goes into it. */
const DISK_SHARE = 0.02;
const DISK_MIN_AGE_MS = 2_000;

/** Measures an instance again and again; remembers the size of its files for a while. */
export class StatsReader {
  #disk: { bytes: number; untilMs: number } | undefined;

  async read(root: TreeRoot): Promise<InstanceStats> {
    const members = findMembers(root);
    let memoryBytes = 0;
    let cacheBytes = 0;
    for (const { pid } of members) {
      const { resident, file } = readMemory(pid);
      memoryBytes += resident;
      cacheBytes += file;
    }
    // A program may have removed its own home; everything else is still known.
    const disk = await statfs(root.home).catch(() => undefined);
    return {
      cpuUsageUs: (members.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0) * 1_000_000) / TICKS_PER_SECOND,
      cpuCount: availableParallelism(),
      memoryBytes,
      memoryLimitBytes: totalmem(),
      memoryCacheBytes: cacheBytes,
      diskUsedBytes: await this.#diskUsed(root.home),
      diskLimitBytes: disk === undefined ? 0 : disk.blocks * disk.bsize,
      pids: members.length,
    };
  }

  async #diskUsed(home: string): Promise<number> {
    const startMs = performance.now();
    if (this.#disk !== undefined && startMs < this.#disk.untilMs) return this.#disk.bytes;
    const bytes = await directorySize(home);
    const endMs = performance.now();
    this.#disk = { bytes, untilMs: endMs + Math.max(DISK_MIN_AGE_MS, (endMs - startMs) / DISK_SHARE) };
    return bytes;
  }
}

/** Bytes in RAM, and those of them that are mapped files. Zero where the host has no /proc. */
function readMemory(pid: number): { resident: number; file: number } {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
    return { resident: kib('VmRSS') * 1024, file: kib('RssFile') * 1024 };
  } catch {
    return { resident: 0, file: 0 };
  }
}

import { readFileSync } from 'node:fs';

/** Resident memory of a process, MiB. */
export function memoryMiB(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return match === null ? 0 : Number(match[1]) / 1024;
}

/** Proportional share of memory of a process, MiB: what is shared counts by its share. */
export function proportionalMiB(pid: number): number {
  const match = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  return match === null ? 0 : Number(match[1]) / 1024;
}

import { readdirSync, readFileSync } from 'node:fs';

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

/** Processor time that a process has used so far, ms; threads that ended are not in it. 0 once it is gone. */
export function processorMs(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((total, thread) => {
      const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      return total + Number(nanoseconds) / 1e6;
    }, 0);
  } catch {
    return 0;
  }
}

/** Daemons of sandboxes that run now. */
export function daemons(): number[] {
  return processIds().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('envd.cjs');
    } catch {
      return false;
    }
  });
}

/** A process, its children, theirs, and so on. */
export function withDescendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const each of processIds()) {
    const parent = parentOf(each);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), each]);
  }
  const found = [pid];
  for (const each of found) found.push(...(children.get(each) ?? []));
  return found;
}

function parentOf(pid: number): number | undefined {
  try {
    const match = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return match === null ? undefined : Number(match[1]);
  } catch {
    return undefined;
  }
}

function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

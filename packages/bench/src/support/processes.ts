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

/** Processor time that a process has used so far, ms; threads that ended are not in it. 0 once it has exited. */
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

/** Ticks a second in the times of /proc, on every Linux that Node runs on. */
const TICKS = 100;

/**
 * Processor time that a process and all its descendants have used so far, ms, in steps of 10: those that ended too, where
 * their parents waited for them.
 */
export function processorMsOfTree(pid: number): number {
  return withDescendants(pid).reduce((total, each) => total + processorMsWithEnded(each), 0);
}

/** The same of a process and those of its children that ended. */
export function processorMsWithEnded(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold blanks. After it: state, and from the twelfth on the times, own and of the children.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) * (1000 / TICKS);
  } catch {
    return 0;
  }
}

/** Processor time that the whole machine has used so far, ms. */
export function processorMsOfHost(): number {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user, nice, system, , , irq, softirq] = first.split(/ +/).slice(1).map(Number);
  return (
    [user, nice, system, irq, softirq].reduce<number>((total, ticks = 0) => total + ticks, 0) * (1000 / TICKS)
  );
}

/** Daemons of sandboxes that run now. */
export function daemons(): number[] {
  return processIds().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/.sbx/envd');
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

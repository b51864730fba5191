import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When a process started, as text that only serves comparison: together with the pid it distinguishes a process from a later
 * one with the same pid. Undefined when there is none, or only a zombie is left.
 */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const stat = readProcStat(pid);
    return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? undefined : stat.startTicks;
  }
  try {
    const line = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' ? undefined : line;
  } catch {
    return undefined;
  }
}

/** Returns true while exactly the process that was recorded still runs. */
export function isSameProcess(pid: number, start: string): boolean {
  return processStart(pid) === start;
}

/** Returns true for a process that SIGSTOP or its like has stopped. False when it has exited. */
export function isStopped(pid: number): boolean {
  if (process.platform === 'linux') return readProcStat(pid)?.state === 'T';
  try {
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .startsWith('T');
  } catch {
    return false;
  }
}

export interface ProcStat {
  /** One letter as in proc(5): R, S, D, T, Z, ... */
  state: string;
  ppid: number;
  pgid: number;
  sid: number;
  /** User and system time with that of reaped children, clock ticks. */
  cpuTicks: number;
  /** Start after boot, clock ticks. */
  startTicks: string;
}

/** Reads `/proc/<pid>/stat`. Undefined when the process has exited. */
export function readProcStat(pid: number): ProcStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  return parseProcStat(text);
}

/** @param text the content of a `stat` file. The program's name in it may hold blanks and brackets. */
export function parseProcStat(text: string): ProcStat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // fields[0] is the third field of proc(5).
  const state = fields[0];
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  return {
    state,
    ppid: Number(fields[1]),
    pgid: Number(fields[2]),
    sid: Number(fields[3]),
    cpuTicks: Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]),
    startTicks,
  };
}

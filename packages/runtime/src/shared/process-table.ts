import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readProcStat } from '#support/process-identity';

/** One living process of the host; zombies are left out. */
export interface ProcessEntry {
  pid: number;
  ppid: number;
  pgid: number;
  /** Session; on hosts without /proc the process group again. */
  sid: number;
  stopped: boolean;
  /** Grows with the time of the start. */
  age: number;
  cpuTicks: number;
}

export function readProcessTable(): ProcessEntry[] {
  return process.platform === 'linux' ? readProc() : readPs();
}

function readProc(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readProcStat(pid);
    if (stat === undefined || stat.state === 'Z' || stat.state === 'X') continue;
    const { ppid, pgid, sid, cpuTicks } = stat;
    entries.push({
      pid,
      ppid,
      pgid,
      sid,
      cpuTicks,
      stopped: stat.state === 'T',
      age: Number(stat.startTicks),
    });
  }
  return entries;
}

function readPs(): ProcessEntry[] {
  const text = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat='], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => {
    const [pid, ppid, pgid, stat] = line.trim().split(/\s+/);
    if (pid === undefined || stat === undefined || stat.startsWith('Z')) return [];
    const entry = {
      pid: Number(pid),
      ppid: Number(ppid),
      pgid: Number(pgid),
      sid: Number(pgid),
      cpuTicks: 0,
    };
    return [{ ...entry, stopped: stat.startsWith('T'), age: Number(pid) }];
  });
}

/** The environment that a process was started with; empty when it has exited, is not ours, or the host has no /proc. */
export function readEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

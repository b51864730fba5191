import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readProcStat } from '../shared/process-identity.js';

/** Finds programs that a checkpoint cannot hold. Gives sentences for the user; empty when none is known. */
export function findUndumpable(initPid: number, pids: readonly number[], cgroupVersion: 1 | 2): string[] {
  const found: string[] = [];
  const home = link(`/proc/${initPid}/ns/user`);
  for (const pid of pids) {
    const name = `"${readText(`/proc/${pid}/comm`)?.trim() ?? '?'}" (process ${innerPid(pid)})`;
    const namespace = link(`/proc/${pid}/ns/user`);
    if (namespace !== undefined && namespace !== home) {
      found.push(`${name} runs in a user namespace of its own`);
      continue;
    }
    // On v1 hosts CRIU waits for ever for a process that is stopped in a frozen cgroup.
    const state = readProcStat(pid)?.state;
    if (cgroupVersion === 1 && (state === 'T' || state === 't'))
      found.push(`${name} is stopped (SIGSTOP or a debugger)`);
    if (descriptors(pid).some((target) => target === 'anon_inode:[io_uring]'))
      found.push(`${name} uses io_uring`);
  }
  return found;
}

/** What CRIU's log says, for a user. */
export function explainDumpFailure(log: string): string {
  const errors = log.split('\n').filter((line) => line.includes('Error'));
  const known: [RegExp, string][] = [
    [/io_uring/, 'a program uses io_uring'],
    [/user namespace|userns/i, 'a program runs in a user namespace of its own'],
    [
      /Unix socket .* not found|unix.*external/i,
      'a program is connected to a Unix socket outside the sandbox',
    ],
    [/vfork|seize/i, 'a program could not be stopped in time'],
    [/No space left|ENOSPC/i, 'the storage is full'],
    [/fsnotify|inotify|Can't dump that handle/i, 'a watched file cannot be stored'],
  ];
  for (const [pattern, text] of known) {
    if (errors.some((line) => pattern.test(line))) return text;
  }
  return 'a program uses something that a checkpoint cannot hold';
}

function innerPid(pid: number): string {
  const line = /^NSpid:\s+(.*)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return line?.trim().split(/\s+/).at(-1) ?? '?';
}

function descriptors(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => link(`/proc/${pid}/fd/${fd}`) ?? []);
  } catch {
    return [];
  }
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

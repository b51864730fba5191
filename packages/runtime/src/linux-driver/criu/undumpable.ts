import { readlinkSync } from 'node:fs';
import { readProcStat } from '#support/process-identity';
import { readText } from '../../shared/read-text.js';
import { Turns } from '../../shared/turns.js';
import { readDescriptors } from './read-descriptors.js';

/** How many descriptors the programs of a sandbox may have together. CRIU takes ten seconds for so many, and the source stands still. */
const MAX_DESCRIPTORS = 200_000;

/** Finds programs that a checkpoint cannot hold. Gives sentences for the user; empty when none is known. */
export async function findUndumpable(
  initPid: number,
  pids: readonly number[],
  cgroupVersion: 1 | 2,
  proc = '/proc',
): Promise<string[]> {
  const turns = new Turns();
  let left = MAX_DESCRIPTORS;
  const found: string[] = [];
  const home = link(`/proc/${initPid}/ns/user`);
  for (const pid of pids) {
    await turns.give();
    const namespace = link(`/proc/${pid}/ns/user`);
    if (namespace !== undefined && namespace !== home) {
      found.push(`${programName(pid)} runs in a user namespace of its own`);
      continue;
    }
    // On v1 hosts CRIU waits for ever for a process that is stopped in a frozen cgroup.
    const state = readProcStat(pid)?.state;
    if (cgroupVersion === 1 && (state === 'T' || state === 't'))
      found.push(`${programName(pid)} is stopped (SIGSTOP or a debugger)`);
    for await (const target of readDescriptors(pid, turns, proc)) {
      left -= 1;
      if (left < 0)
        return [
          ...found,
          `its programs have more than ${MAX_DESCRIPTORS} files open, ${programName(pid)} among them`,
        ];
      if (target !== 'anon_inode:[io_uring]') continue;
      found.push(`${programName(pid)} uses io_uring`);
      break;
    }
  }
  return found;
}

/** What CRIU's errors mean; the program is the subject. */
const REASONS: [pattern: RegExp, text: string][] = [
  [/io_uring/, 'uses io_uring'],
  [/user namespace|userns/i, 'runs in a user namespace of its own'],
  [/Unix socket .* not found|unix.*external/i, 'is connected to a Unix socket outside the sandbox'],
  [/Unknown socket|Unsupported socket|socket family/i, 'uses a kind of socket that cannot be stored'],
  [/secretmem/, 'uses secret memory (memfd_secret)'],
  [/Can't lookup mount=/, 'holds a file open that is in none of its file systems, such as a message queue'],
  [/vfork|seize/i, 'could not be stopped in time'],
  [/fsnotify|inotify|Can't dump that handle/i, 'watches a file that cannot be stored'],
];

/** Whether CRIU's log says that it got hold of the processes too late: the host was too busy, no program is at fault. */
export function ranOutOfTime(log: string): boolean {
  return /Error .*Timeout reached/.test(log);
}

/** What CRIU's log says, for a user: which program it gave up on, and why. Call it while the programs still live. */
export function explainDumpFailure(log: string): string {
  const errors = log.split('\n').filter((line) => line.includes('Error'));
  const pid = errors
    .map((line) => /\(pid: (\d+)\) failed/.exec(line)?.[1])
    .find((each) => each !== undefined);
  const reason = REASONS.find(([pattern]) => errors.some((line) => pattern.test(line)))?.[1];
  const subject = pid === undefined ? 'a program' : programName(Number(pid));
  return `${subject} ${reason ?? 'uses something that a checkpoint cannot hold'}`;
}

/** A program as its user sees it. */
export function programName(pid: number): string {
  return `"${readText(`/proc/${pid}/comm`)?.trim() ?? '?'}" (process ${innerPid(pid)})`;
}

function innerPid(pid: number): string {
  const line = /^NSpid:\s+(.*)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1];
  return line?.trim().split(/\s+/).at(-1) ?? '?';
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

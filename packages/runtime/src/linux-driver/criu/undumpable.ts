import { readdirSync, readlinkSync } from 'node:fs';
import { readProcStat } from '#support/process-identity';
import { DriverError } from '../../contract/errors.js';
import { readText } from '../../shared/read-text.js';
import { Turns } from '../../shared/turns.js';
import { DeletedWatches } from './deleted-watches.js';
import { findMovedSockets, namedSockets, type OpenSocket } from './moved-sockets.js';
import { innerPid, programName } from './program-name.js';
import { readDescriptors } from './read-descriptors.js';

/** The most descriptors of all programs of a sandbox together. CRIU takes ten seconds for so many, and the source is frozen meanwhile. */
const MAX_DESCRIPTORS = 200_000;
/** The most sockets with a path that are looked at. */
const MAX_NAMED_SOCKETS = 1_000;

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
  const named = namedSockets(readText(`${proc}/${initPid}/net/unix`) ?? '');
  const held: OpenSocket[] = [];
  const watches = new DeletedWatches();
  for (const pid of pids) {
    await turns.give();
    const namespace = link(`/proc/${pid}/ns/user`);
    if (namespace !== undefined && namespace !== home) {
      found.push(`${programName(pid)} runs in a user namespace of its own`);
      continue;
    }
    const tracer = findTracer(pid);
    if (tracer !== undefined) found.push(`${programName(tracer)} traces ${programName(pid)}`);
    // On v1 hosts CRIU waits for ever for a process that is stopped in a frozen cgroup.
    const state = readProcStat(pid)?.state;
    if (cgroupVersion === 1 && (state === 'T' || state === 't'))
      found.push(`${programName(pid)} is stopped (SIGSTOP or a debugger)`);
    for await (const [fd, target] of readDescriptors(pid, turns, proc)) {
      left -= 1;
      if (left < 0)
        return [
          ...found,
          `its programs have more than ${MAX_DESCRIPTORS} files open, ${programName(pid)} among them`,
        ];
      watches.add(pid, fd, target, proc);
      const name = named.get(target);
      if (name !== undefined && named.delete(target) && held.length < MAX_NAMED_SOCKETS)
        held.push({ pid, fd, name });
      if (target !== 'anon_inode:[io_uring]') continue;
      found.push(`${programName(pid)} uses io_uring`);
      break;
    }
  }
  for (const group of multicastGroups(`${proc}/${initPid}/net`))
    found.push(`a program has joined the multicast group ${group}, which no copy would be in`);
  return [...found, ...(await watches.find(pids, turns, proc)), ...(await findMovedSockets(held))];
}

/** The meanings of CRIU's errors; the program is the subject. */
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

/** Returns true if CRIU's log says that it seized the processes too late: the host was too busy, no program is at fault. */
export function ranOutOfTime(log: string): boolean {
  return /Error .*Timeout reached/.test(log);
}

/** Explains CRIU's log to a user: the program that it gave up on, and the reason. Call it while the programs still live. */
export function explainDumpFailure(log: string): string {
  const errors = log.split('\n').filter((line) => line.includes('Error'));
  const pid = errors
    .map((line) => /\(pid: (\d+)\) failed/.exec(line)?.[1])
    .find((each) => each !== undefined);
  const reason = REASONS.find(([pattern]) => errors.some((line) => pattern.test(line)))?.[1];
  const subject = pid === undefined ? 'a program' : programName(Number(pid));
  return `${subject} ${reason ?? 'uses something that a checkpoint cannot hold'}`;
}

/** The meanings of CRIU's errors at a restore; the program is the subject. */
const RESTORE_REASONS: [pattern: RegExp, text: string][] = [
  [/sk-unix|unix:/, 'has a Unix socket whose directory was moved or removed since'],
  [/sk-inet|inet socket/, 'has a network connection that cannot be made again'],
  [/fsnotify|inotify/, 'watches a file that was deleted'],
  [/files-reg|Can't open file|File .* has bad/, 'has a file open that cannot be opened again'],
];

/**
 * The error for stored memory of which a trial showed that it cannot be restored; other errors stay as they are.
 * @param pids the programs that were stored, which still live.
 */
export function unrestorable(error: unknown, pids: readonly number[]): unknown {
  if (!DriverError.is(error) || error.code !== 'restore_failed') return error;
  const { detail } = error;
  const line = /^.*?(\d+): Error \((.*)$/m.exec(detail ?? '');
  const pid = pids.find((each) => innerPid(each) === line?.[1]);
  const subject = pid === undefined ? 'a program' : programName(pid);
  const reason = RESTORE_REASONS.find(([pattern]) => pattern.test(line?.[2] ?? ''))?.[1];
  return new DriverError(
    'undumpable',
    `The memory of the sandbox cannot be stored: ${subject} ${reason ?? 'uses something that could not be restored'}.`,
    { cause: error, detail },
  );
}

/** Threads of a process; none when it has ended. */
export function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** CRIU waits in vain for a program that another one traces, and everything is frozen meanwhile. */
function findTracer(pid: number): number | undefined {
  for (const tid of threads(pid)) {
    const tracer = /^TracerPid:\t([1-9]\d*)$/m.exec(readText(`/proc/${pid}/task/${tid}/status`) ?? '')?.[1];
    if (tracer !== undefined) return Number(tracer);
  }
  return undefined;
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** All hosts, which every device is in. */
const OF_ANY_DEVICE = '224.0.0.1';
/** All nodes of a device and of a link, all routers and snoopers, and the group of each of a device's own addresses. */
const OF_ANY_DEVICE_V6 = /^ff0[125]0{26}(01|02|6a)$|^ff020{19}1ff.{6}$/;

/**
 * Multicast groups that programs have joined, of a network namespace: CRIU stores no membership of a socket, and what is sent to the
 * group would no longer arrive.
 * @param directory `/proc/<pid>/net`
 */
function multicastGroups(directory: string): string[] {
  const groups = new Set<string>();
  for (const line of (readText(`${directory}/igmp`) ?? '').split('\n')) {
    const [, group] = /^\t+([0-9A-F]{8})\s/.exec(line) ?? [];
    if (group !== undefined) groups.add([...Buffer.from(group, 'hex')].reverse().join('.'));
  }
  groups.delete(OF_ANY_DEVICE);
  for (const line of (readText(`${directory}/igmp6`) ?? '').split('\n')) {
    const [, group] = /^\d+\s+\S+\s+([0-9a-f]{32})\s/.exec(line) ?? [];
    if (group !== undefined && !OF_ANY_DEVICE_V6.test(group)) groups.add(group.replace(/.{4}(?=.)/g, '$&:'));
  }
  return [...groups];
}

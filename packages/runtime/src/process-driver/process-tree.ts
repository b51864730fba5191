import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess, stopAll, withDescendants } from '../shared/process-family.js';
import { type ProcessEntry, readEnvironment, readProcessTable } from '../shared/process-table.js';

/** The variable that marks the daemon of an instance and, where the daemon passes it on, its commands. */
export const MARKER = 'SVC_INSTANCE_HOME';

/** The properties by which the processes of an instance are found. */
export interface TreeRoot {
  /** Absolute home directory: processes with it as `HOME` or in the marker belong to the instance. */
  home: string;
  /** The daemon, when it is known to live. */
  daemonPid?: number | undefined;
}

/**
 * Decides which processes belong to an instance: the daemon, every process with its mark, and all that descends from
 * these or shares a session that one of them leads. Pure but for `environmentOf`.
 */
export function selectMembers(
  table: ProcessEntry[],
  root: TreeRoot,
  environmentOf: (pid: number) => string[] = readEnvironment,
  self: number = process.pid,
): ProcessEntry[] {
  const marks = [`HOME=${root.home}`, `${MARKER}=${root.home}`];
  const members = new Set<number>();
  for (const { pid } of table) {
    if (pid === root.daemonPid || environmentOf(pid).some((entry) => marks.includes(entry))) members.add(pid);
  }
  members.delete(self);
  return withDescendants(
    table,
    members,
    ({ pid, ppid, sid }, found) => pid !== self && pid !== 1 && (found.has(ppid) || found.has(sid)),
  );
}

export function findMembers(root: TreeRoot): ProcessEntry[] {
  return selectMembers(readProcessTable(), root);
}

/**
 * Stops every process of the instance, parents first. Gives the pids that stood already: a job that the user stopped
 * must not continue when the instance does.
 */
export function stopTree(root: TreeRoot): number[] {
  return stopAll(() => findMembers(root));
}

/** Resumes the instance's processes, children first, so that no shell finds a child of its own still stopped. */
export function continueTree(root: TreeRoot, except: readonly number[]): void {
  for (const { pid } of findMembers(root).sort((a, b) => b.age - a.age)) {
    if (!except.includes(pid)) signalProcess(pid, 'SIGCONT');
  }
}

/** Ends every process of the instance; settles when none is left. @throws {Error} when some survive `timeoutMs`. */
export async function killTree(root: TreeRoot, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  stopTree(root);
  for (let delayMs = 1; ; delayMs = Math.min(delayMs * 2, 50)) {
    const members = findMembers(root);
    if (members.length === 0) return;
    // The daemon goes first: a driver that finds it alive, after a crash in between, finds its programs whole.
    if (members.some(({ pid }) => pid === root.daemonPid)) signalProcess(root.daemonPid!, 'SIGKILL');
    for (const { pid } of members) signalProcess(pid, 'SIGKILL');
    if (Date.now() > deadline) throw new Error(`${members.length} processes of the instance cannot be ended`);
    await sleep(delayMs);
  }
}

import { type ProcessEntry, readProcessTable } from './process-table.js';

/** A family that grows faster than this is stopped as far as it is known. */
const STOP_ROUNDS = 50;

/**
 * The processes of a table that are members, or belong to those that are, at any remove. Pure.
 * @param belongs whether a process that is no member yet belongs to the members; by default a child does.
 */
export function withDescendants(
  table: readonly ProcessEntry[],
  members: ReadonlySet<number>,
  belongs: (process: ProcessEntry, members: ReadonlySet<number>) => boolean = ({ ppid }, found) =>
    found.has(ppid),
): ProcessEntry[] {
  const found = new Set(members);
  for (let grew = found.size > 0; grew; ) {
    grew = false;
    for (const process of table) {
      if (found.has(process.pid) || !belongs(process, found)) continue;
      found.add(process.pid);
      grew = true;
    }
  }
  return table.filter(({ pid }) => found.has(pid));
}

/** Stops every process that `find` gives, oldest first, until it gives no other. Gives the pids that stood already. */
export function stopAll(find: () => ProcessEntry[]): number[] {
  const seen = new Set<number>();
  const stoodBefore: number[] = [];
  for (let round = 0; round < STOP_ROUNDS; round += 1) {
    const fresh = find().filter(({ pid }) => !seen.has(pid));
    if (fresh.length === 0) break;
    for (const { pid, stopped } of fresh.sort((a, b) => a.age - b.age)) {
      seen.add(pid);
      if (stopped) stoodBefore.push(pid);
      else signalProcess(pid, 'SIGSTOP');
    }
  }
  return stoodBefore;
}

/** Kills a process and all that descends from it. They are stopped first, so that none can start another meanwhile. */
export function killFamily(root: number): void {
  const find = () => withDescendants(readProcessTable(), new Set([root]));
  stopAll(find);
  for (const { pid } of find()) signalProcess(pid, 'SIGKILL');
}

/** False when the process has exited. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

import { type ProcessEntry, readProcessTable } from './process-table.js';

/** A tree that grows faster than this is killed as far as it is known. */
const ROUNDS = 20;

/** Kills a process and all that descends from it. They are stopped first, so that none can start another meanwhile. */
export function killTree(root: number): void {
  const members = new Set<number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const fresh = descendantsOf(root, readProcessTable()).filter((pid) => !members.has(pid));
    if (fresh.length === 0) break;
    for (const pid of fresh) {
      members.add(pid);
      signal(pid, 'SIGSTOP');
    }
  }
  for (const pid of members) signal(pid, 'SIGKILL');
}

/** The process itself, where it is there, and everything below it. */
function descendantsOf(root: number, table: readonly ProcessEntry[]): number[] {
  const members = new Set(table.filter(({ pid }) => pid === root).map(({ pid }) => pid));
  for (let grew = members.size > 0; grew; ) {
    grew = false;
    for (const { pid, ppid } of table) {
      if (members.has(pid) || !members.has(ppid)) continue;
      members.add(pid);
      grew = true;
    }
  }
  return [...members];
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone meanwhile.
  }
}

import type { Conflict } from './action.js';
import type { Decision, PlanInput } from './input.js';
import { type Entry, type FoundEntry, plainEntry, sameEntry } from './tree.js';
import type { TreeIndex } from './tree-index.js';

/**
 * Two-way: who changed something since the last common state is followed. An edit wins over a deletion. Where both
 * changed, the preference decides, and without one both versions are kept.
 */
export function decideTwoWay(input: PlanInput, index: TreeIndex): Decision {
  const { base, local, remote, prefer, isLocalOnly } = input;
  const target = new Map<string, Entry>();
  /** Entries that the remote side keeps and the local one does not get. */
  const remoteOnly = new Map<string, Entry>();
  const conflicts: Conflict[] = [];
  for (const path of index.childrenOf('')) decide(path);
  return { local: target, remote: new Map([...target, ...remoteOnly]), conflicts };

  /** Decides a path and all below it. Returns true when anything stays there. */
  function decide(path: string): boolean {
    const [l, r] = [local.get(path), remote.get(path)];
    if (l?.type === 'directory' && r?.type === 'directory') return merge(path, true);
    if (isLocalOnly?.(path) && l?.type !== 'directory' && r?.type !== 'directory') {
      if (l !== undefined) target.set(path, plainEntry(l));
      else if (r !== undefined) remoteOnly.set(path, plainEntry(r));
      return l !== undefined;
    }
    if (!index.changed('local', path)) return take(remote, path);
    if (!index.changed('remote', path)) return take(local, path);
    // A deletion against changes: what was changed stays, with the directories above it.
    if (l === undefined || r === undefined) {
      const left = l ?? r;
      if (left?.type !== 'directory') return take(l === undefined ? remote : local, path);
      return merge(path, base.get(path)?.type !== 'directory');
    }
    return settle(path, l, r);
  }

  function merge(path: string, stays: boolean): boolean {
    const survivors = index.childrenOf(path).map(decide);
    if (!stays && !survivors.includes(true)) return false;
    target.set(path, { type: 'directory' });
    return true;
  }

  function settle(path: string, l: FoundEntry, r: FoundEntry): boolean {
    if (l.type === 'file' && r.type === 'file') {
      const before = base.get(path);
      const common = before?.type === 'file' ? before : undefined;
      // Two changes of which one is of the mode alone are no conflict: the content counts.
      if (l.digest === r.digest) return take(common?.executable === l.executable ? remote : local, path);
      if (common?.digest === l.digest) return take(remote, path);
      if (common?.digest === r.digest) return take(local, path);
    } else if (sameEntry(l, r)) return take(local, path);
    const kept = winner(l, r);
    if (prefer !== undefined) {
      conflicts.push({ path, kept, copy: undefined });
      return take(kept === 'local' ? local : remote, path);
    }
    const copy = input.conflictPath(path);
    conflicts.push({ path, kept, copy });
    take(remote, path, copy);
    return take(local, path);
  }

  function winner(l: FoundEntry, r: FoundEntry): 'local' | 'remote' {
    if (prefer === 'newer') return r.modifiedMs > l.modifiedMs ? 'remote' : 'local';
    return prefer ?? 'local';
  }

  /** Makes what a side has at a path, and below, what both shall have, there or at another place. */
  function take(tree: ReadonlyMap<string, FoundEntry>, path: string, to = path): boolean {
    const entry = tree.get(path);
    if (entry === undefined) return false;
    target.set(to, plainEntry(entry));
    if (entry.type === 'directory') {
      for (const child of index.childrenOf(path)) take(tree, child, `${to}${child.slice(path.length)}`);
    }
    return true;
  }
}

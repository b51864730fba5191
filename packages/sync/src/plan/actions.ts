import type { Action, Conflict, Side } from './action.js';
import type { Decision, Plan } from './input.js';
import { byPath, type Entry, type FoundEntry, plainEntry, sameEntry, type Tree } from './tree.js';

interface Situation {
  base: Tree;
  local: Tree<FoundEntry>;
  remote: Tree<FoundEntry>;
  decision: Decision;
}

/** Returns the actions that lead from the trees to the decision. */
export function actionsBetween({ base, local, remote, decision }: Situation): Plan {
  const moved = applyConflicts(remote, decision.conflicts);
  const actions: Action[] = decision.conflicts.map((conflict) => ({
    kind: 'conflict',
    found: remote.get(conflict.path),
    ...conflict,
  }));
  actions.push(...changesOf('local', local, decision.local, moved));
  actions.push(...changesOf('remote', moved, decision.remote, local));
  const common = new Map<string, Entry>();
  for (const [path, entry] of decision.local) {
    if (!sameEntry(entry, decision.remote.get(path))) continue;
    if (sameEntry(entry, local.get(path)) && sameEntry(entry, moved.get(path))) common.set(path, entry);
    // Until it is done, the last common state stays what it was.
    else keep(path);
  }
  for (const path of base.keys())
    if (!decision.local.has(path) && (local.has(path) || moved.has(path))) keep(path);
  return { actions, base: common };

  function keep(path: string): void {
    const entry = base.get(path);
    if (entry !== undefined) common.set(path, plainEntry(entry));
  }
}

/** The remote tree once the versions that lost are under their new names. */
function applyConflicts(
  remote: Tree<FoundEntry>,
  conflicts: readonly Conflict[],
): ReadonlyMap<string, FoundEntry> {
  const moves = new Map(conflicts.flatMap(({ path, copy }) => (copy === undefined ? [] : [[path, copy]])));
  if (moves.size === 0) return remote;
  const moved = new Map<string, FoundEntry>();
  for (const [path, entry] of remote) moved.set(placeOf(path, moves), entry);
  return moved;
}

function placeOf(path: string, moves: ReadonlyMap<string, string>): string {
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
    const to = moves.get(path.slice(0, end));
    if (to !== undefined) return to + path.slice(end);
  }
  return path;
}

function changesOf(
  side: Side,
  now: Tree<FoundEntry>,
  wanted: ReadonlyMap<string, Entry>,
  other: Tree<FoundEntry>,
): Action[] {
  const gone: string[] = [];
  for (const [path, found] of now) {
    const entry = wanted.get(path);
    if (entry === undefined || (entry.type === 'directory') !== (found.type === 'directory')) gone.push(path);
  }
  const deleted = new Set(gone);
  // An entry that makes room for another one has to go before anything is moved.
  const spare = renamable(
    now,
    gone.filter((path) => !wanted.has(path)),
  );
  const [deletes, renames, writes]: [Action[], Action[], Action[]] = [[], [], []];
  for (const path of [...wanted.keys()].sort(byPath)) {
    const entry = wanted.get(path) as Entry;
    const found = now.get(path);
    if (sameEntry(entry, found)) continue;
    const replaces = deleted.has(path) ? undefined : found;
    const from = found === undefined ? takeSpare(spare, entry) : undefined;
    if (from !== undefined) {
      deleted.delete(from);
      renames.push({ kind: 'rename', side, path: from, to: path, found: now.get(from) as FoundEntry });
    } else writes.push({ kind: 'write', side, path, entry, replaces, source: other.get(path) });
  }
  // The innermost first, so that directories are empty when it is their turn.
  for (const path of [...deleted].sort(byPath).reverse())
    deletes.push({ kind: 'delete', side, path, found: now.get(path) as FoundEntry });
  return [...deletes, ...renames, ...writes];
}

/** Files that go, by what is in them. Empty ones are as easily written. */
function renamable(now: Tree<FoundEntry>, gone: readonly string[]): Map<string, string[]> {
  const spare = new Map<string, string[]>();
  for (const path of gone) {
    const found = now.get(path);
    if (found?.type !== 'file' || found.sizeBytes === 0) continue;
    const paths = spare.get(keyOf(found));
    if (paths) paths.push(path);
    else spare.set(keyOf(found), [path]);
  }
  return spare;
}

function takeSpare(spare: Map<string, string[]>, entry: Entry): string | undefined {
  return entry.type === 'file' ? spare.get(keyOf(entry))?.shift() : undefined;
}

const keyOf = ({ digest, executable }: { digest: string; executable: boolean }) =>
  `${digest}${executable ? '*' : ''}`;

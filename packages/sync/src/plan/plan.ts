import { actionsBetween } from './actions.js';
import type { Decision, Plan, PlanInput } from './input.js';
import { ancestorsOf, type Entry, plainEntry } from './tree.js';
import { TreeIndex } from './tree-index.js';
import { decideTwoWay } from './two-way.js';

/** Compares what was in common with what both sides have now, and says what brings them together. Pure. */
export function plan(input: PlanInput): Plan {
  const { base, local, remote, mode } = input;
  const index = new TreeIndex(base, local, remote);
  const decision = mode === 'two-way' ? decideTwoWay(input, index) : decideMirror(input);
  return actionsBetween({ base, local, remote, decision });
}

/**
 * One way: the side that follows gets what the other has, despite changes to it. What the source never had stays,
 * unless it is in the way or extra entries are to go.
 */
function decideMirror({ base, local, remote, mode, deleteExtra }: PlanInput): Decision {
  const [source, follower] = mode === 'push' ? [local, remote] : [remote, local];
  const kept = new Map<string, Entry>();
  const wanted = new Map<string, Entry>();
  for (const [path, entry] of source) {
    kept.set(path, plainEntry(entry));
    wanted.set(path, plainEntry(entry));
  }
  if (!deleteExtra) {
    for (const [path, entry] of follower) {
      if (source.has(path) || base.has(path)) continue;
      // Below a file or link of the source there is no place.
      const above = ancestorsOf(path);
      if (above.some((directory) => (source.get(directory)?.type ?? 'directory') !== 'directory')) continue;
      wanted.set(path, plainEntry(entry));
      // A directory that went at the source stays while something is in it that the source never had.
      for (const directory of above) if (!wanted.has(directory)) wanted.set(directory, { type: 'directory' });
    }
  }
  return mode === 'push'
    ? { local: kept, remote: wanted, conflicts: [] }
    : { local: wanted, remote: kept, conflicts: [] };
}

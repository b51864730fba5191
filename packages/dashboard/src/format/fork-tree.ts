/** A sandbox as far as forks go. */
export interface Fork {
  sandboxId: string;
  forkedFrom: string | undefined;
}

/** A sandbox and what was forked from it. `known` is undefined for one that is deleted. */
export interface ForkTree<Known extends Fork> {
  sandboxId: string;
  known: Known | undefined;
  forks: ForkTree<Known>[];
}

/** The family of a sandbox, from the eldest that anybody names down, in the order of the list. */
export function forkTree<Known extends Fork>(all: readonly Known[], sandboxId: string): ForkTree<Known> {
  const byId = new Map(all.map((each) => [each.sandboxId, each]));
  const children = new Map<string, string[]>();
  for (const { sandboxId: id, forkedFrom } of all)
    if (forkedFrom !== undefined) children.set(forkedFrom, [...(children.get(forkedFrom) ?? []), id]);
  let root = sandboxId;
  // Each sandbox once: records that contradict each other must not go round and round.
  const climbed = new Set([root]);
  for (;;) {
    const parent = byId.get(root)?.forkedFrom;
    if (parent === undefined || climbed.has(parent)) break;
    climbed.add(parent);
    root = parent;
  }
  const seen = new Set<string>();
  const grow = (id: string): ForkTree<Known> => {
    seen.add(id);
    const own = (children.get(id) ?? []).filter((child) => !seen.has(child));
    return { sandboxId: id, known: byId.get(id), forks: own.map(grow) };
  };
  return grow(root);
}

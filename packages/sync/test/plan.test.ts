import { describe, expect, it } from 'vitest';
import type { Action } from '../src/plan/action.js';
import type { PlanInput } from '../src/plan/input.js';
import { plan } from '../src/plan/plan.js';
import { type Entry, type FoundEntry, sameEntry } from '../src/plan/tree.js';

type Sketch = Record<string, string>;

/** `dir`, `-> target`, or what a file says; a star at its end makes it executable. */
function entryOf(text: string): Entry {
  if (text === 'dir') return { type: 'directory' };
  if (text.startsWith('-> ')) return { type: 'symlink', target: text.slice(3) };
  return { type: 'file', digest: text.replace(/\*$/, ''), executable: text.endsWith('*') };
}

const treeOf = (sketch: Sketch) =>
  new Map(Object.entries(sketch).map(([path, text]) => [path, entryOf(text)]));

function found(tree: ReadonlyMap<string, Entry>, modifiedMs = 0): Map<string, FoundEntry> {
  return new Map(
    [...tree].map(([path, entry]) => [
      path,
      { ...entry, fingerprint: path, sizeBytes: 1, mode: 0o644, modifiedMs },
    ]),
  );
}

function planOf(base: Sketch, local: Sketch, remote: Sketch, options: Partial<PlanInput> = {}) {
  return plan({
    base: treeOf(base),
    local: found(treeOf(local)),
    remote: found(treeOf(remote)),
    mode: 'two-way',
    conflictPath: (path) => `${path}.copy`,
    ...options,
  });
}

function say(action: Action): string {
  if (action.kind === 'conflict') return `conflict ${action.path}: ${action.kept}, ${action.copy}`;
  if (action.kind === 'rename') return `${action.side} rename ${action.path} ${action.to}`;
  return `${action.side} ${action.kind} ${action.path}`;
}

const said = (...args: Parameters<typeof planOf>) => planOf(...args).actions.map(say);

describe('a plan of two ways', () => {
  it.each<[string, Sketch, Sketch, Sketch, string[]]>([
    ['nothing', {}, {}, {}, []],
    ['the same on both sides for the first time', {}, { a: 'x' }, { a: 'x' }, []],
    ['a new file here', {}, { a: 'x' }, {}, ['remote write a']],
    ['a new file there', {}, {}, { a: 'x' }, ['local write a']],
    ['an edit here', { a: 'x' }, { a: 'y' }, { a: 'x' }, ['remote write a']],
    ['an edit there', { a: 'x' }, { a: 'x' }, { a: 'y' }, ['local write a']],
    ['the same edit on both sides', { a: 'x' }, { a: 'y' }, { a: 'y' }, []],
    ['a deletion here', { a: 'x' }, {}, { a: 'x' }, ['remote delete a']],
    ['a deletion there', { a: 'x' }, { a: 'x' }, {}, ['local delete a']],
    ['a deletion on both sides', { a: 'x' }, {}, {}, []],
    ['an edit here against a deletion', { a: 'x' }, { a: 'y' }, {}, ['remote write a']],
    ['an edit there against a deletion', { a: 'x' }, {}, { a: 'y' }, ['local write a']],
    ['a new mode', { a: 'x' }, { a: 'x*' }, { a: 'x' }, ['remote write a']],
    ['a new mode against a new content', { a: 'x' }, { a: 'x*' }, { a: 'y' }, ['local write a']],
    ['modes that differ at first', {}, { a: 'x*' }, { a: 'x' }, ['remote write a']],
    ['a new target of a link', { a: '-> x' }, { a: '-> y' }, { a: '-> x' }, ['remote write a']],
    ['a link instead of a file', { a: 'x' }, { a: '-> b' }, { a: 'x' }, ['remote write a']],
    ['a directory with a file', {}, { d: 'dir', 'd/a': 'x' }, {}, ['remote write d', 'remote write d/a']],
    [
      'a directory that goes',
      { d: 'dir', 'd/a': 'x' },
      {},
      { d: 'dir', 'd/a': 'x' },
      ['remote delete d/a', 'remote delete d'],
    ],
    [
      'a directory that goes while one of its files is edited there',
      { d: 'dir', 'd/a': 'x', 'd/b': 'x' },
      {},
      { d: 'dir', 'd/a': 'x', 'd/b': 'y' },
      ['remote delete d/a', 'local write d', 'local write d/b'],
    ],
    [
      'a directory that goes while a file comes into it there',
      { d: 'dir', 'd/e': 'dir' },
      {},
      { d: 'dir', 'd/e': 'dir', 'd/e/new': 'x' },
      ['local write d', 'local write d/e', 'local write d/e/new'],
    ],
    [
      'a file instead of a directory',
      { d: 'dir', 'd/a': 'x' },
      { d: 'y' },
      { d: 'dir', 'd/a': 'x' },
      ['remote delete d/a', 'remote delete d', 'remote write d'],
    ],
    [
      'a directory instead of a file',
      { d: 'x' },
      { d: 'dir' },
      { d: 'x' },
      ['remote delete d', 'remote write d'],
    ],
    ['a renamed file', { a: 'x' }, { b: 'x' }, { a: 'x' }, ['remote rename a b']],
    [
      'a renamed directory',
      { a: 'dir', 'a/f': 'x' },
      { b: 'dir', 'b/f': 'x' },
      { a: 'dir', 'a/f': 'x' },
      ['remote delete a', 'remote rename a/f b/f', 'remote write b'],
    ],
    [
      'two edits',
      { a: 'x' },
      { a: 'y' },
      { a: 'z' },
      ['conflict a: local, a.copy', 'local write a.copy', 'remote write a'],
    ],
    [
      'two new files',
      {},
      { a: 'y' },
      { a: 'z' },
      ['conflict a: local, a.copy', 'local write a.copy', 'remote write a'],
    ],
    [
      'a file here against a directory there',
      {},
      { d: 'x' },
      { d: 'dir', 'd/a': 'y' },
      ['conflict d: local, d.copy', 'local write d.copy', 'local write d.copy/a', 'remote write d'],
    ],
    [
      'a file instead of a directory against an edit in it',
      { d: 'dir', 'd/a': 'x', 'd/b': 'x' },
      { d: 'y' },
      { d: 'dir', 'd/a': 'z', 'd/b': 'x' },
      [
        'conflict d: local, d.copy',
        'local write d.copy',
        'local write d.copy/a',
        'local write d.copy/b',
        'remote write d',
      ],
    ],
  ])('%s', (_, base, local, remote, expected) => {
    expect(said(base, local, remote).sort()).toEqual([...expected].sort());
  });

  it('gives up the version that a preference is against', () => {
    const [base, local, remote] = [{ a: 'x' }, { a: 'y' }, { a: 'z' }];
    expect(said(base, local, remote, { prefer: 'local' })).toEqual([
      'conflict a: local, undefined',
      'remote write a',
    ]);
    expect(said(base, local, remote, { prefer: 'remote' })).toEqual([
      'conflict a: remote, undefined',
      'local write a',
    ]);
    const newer = { prefer: 'newer', remote: found(treeOf(remote), 5) } as const;
    expect(said(base, local, remote, newer)).toEqual(['conflict a: remote, undefined', 'local write a']);
    expect(said(base, local, remote, { prefer: 'newer' })).toEqual([
      'conflict a: local, undefined',
      'remote write a',
    ]);
  });

  it('takes nothing from there for paths that are decided here', () => {
    const isLocalOnly = (path: string) => path === 'rules';
    expect(said({ rules: 'x' }, { rules: 'x' }, { rules: 'y' }, { isLocalOnly })).toEqual([
      'remote write rules',
    ]);
    expect(said({ rules: 'x' }, { rules: 'x' }, {}, { isLocalOnly })).toEqual(['remote write rules']);
    expect(said({}, {}, { rules: 'y' }, { isLocalOnly })).toEqual([]);
  });

  it('keeps the last common state of what is still to be done', () => {
    const { base } = planOf(
      { a: 'x', b: 'x', c: 'x' },
      { a: 'y', b: 'x' },
      { a: 'x', b: 'x', c: 'x', d: 'x' },
    );
    expect([...base.keys()].sort()).toEqual(['a', 'b', 'c']);
    expect(base.get('a')).toEqual(entryOf('x'));
  });
});

describe('a plan of one way', () => {
  it('overwrites and brings back what the following side changed', () => {
    const [base, local, remote] = [{ a: 'x', b: 'x' }, { a: 'x', b: 'x' }, { a: 'y' }];
    expect(said(base, local, remote, { mode: 'push' })).toEqual(['remote write a', 'remote write b']);
    expect(said(base, remote, local, { mode: 'pull' })).toEqual(['local write a', 'local write b']);
  });

  it('deletes what the source deleted, and leaves what it never had', () => {
    const [base, local, remote] = [{ a: 'x' }, {}, { a: 'x', own: 'x' }];
    expect(said(base, local, remote, { mode: 'push' })).toEqual(['remote delete a']);
    expect(said(base, local, remote, { mode: 'push', deleteExtra: true })).toEqual([
      'remote delete own',
      'remote delete a',
    ]);
  });

  it('puts a file where the following side has a directory', () => {
    const [local, remote] = [{ d: 'x' }, { d: 'dir', 'd/a': 'y' }];
    expect(said({}, local, remote, { mode: 'push' })).toEqual([
      'remote delete d/a',
      'remote delete d',
      'remote write d',
    ]);
  });

  it('leaves a directory that went at the source while something of its own is in it', () => {
    const remote = { d: 'dir', 'd/a': 'x', 'd/own': 'y' };
    expect(said({ d: 'dir', 'd/a': 'x' }, {}, remote, { mode: 'push' })).toEqual(['remote delete d/a']);
  });
});

/** Numbers that look random and are the same each time. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

/** Does what a plan says, as a disk would: refuses what cannot be. */
function carryOut(local: Map<string, Entry>, remote: Map<string, Entry>, actions: readonly Action[]): void {
  const rank = (action: Action): number => {
    if (action.kind === 'conflict') return 0;
    if (action.kind === 'delete') return action.found.type === 'directory' ? 4 : 1;
    if (action.kind === 'rename') return 3;
    return action.entry.type === 'directory' ? 2 : 5;
  };
  const sides = { local, remote };
  for (const action of [...actions].sort((a, b) => rank(a) - rank(b))) {
    if (action.kind === 'conflict') {
      if (action.copy !== undefined) moveTree(remote, action.path, action.copy);
      continue;
    }
    const tree = sides[action.side];
    const path = action.kind === 'rename' ? action.to : action.path;
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parent !== '' && action.kind !== 'delete')
      expect(tree.get(parent)?.type, say(action)).toBe('directory');
    if (action.kind === 'delete') {
      expect(tree.has(path), say(action)).toBe(true);
      expect(
        [...tree.keys()].some((other) => other.startsWith(`${path}/`)),
        say(action),
      ).toBe(false);
      tree.delete(path);
    } else if (action.kind === 'rename') {
      expect(tree.has(path), say(action)).toBe(false);
      tree.set(path, tree.get(action.path) as Entry);
      tree.delete(action.path);
    } else {
      if (action.replaces === undefined) expect(tree.has(path), say(action)).toBe(false);
      else expect(sameEntry(tree.get(path), action.replaces), say(action)).toBe(true);
      tree.set(path, action.entry);
    }
  }
}

function moveTree(tree: Map<string, Entry>, from: string, to: string): void {
  for (const [path, entry] of [...tree]) {
    if (path !== from && !path.startsWith(`${from}/`)) continue;
    tree.delete(path);
    tree.set(to + path.slice(from.length), entry);
  }
}

function edit(tree: Map<string, Entry>, random: (below: number) => number, author: string): void {
  const names = ['a', 'b', 'c'];
  const parts = Array.from({ length: 1 + random(3) }, () => names[random(3)] as string);
  const path = parts.join('/');
  const removeAt = (at: string) => {
    for (const other of [...tree.keys()]) if (other === at || other.startsWith(`${at}/`)) tree.delete(other);
  };
  const there = [...tree.keys()];
  if (random(4) === 0 && there.length > 0) {
    removeAt(there[random(there.length)] as string);
    return;
  }
  if (random(6) === 0 && there.length > 0) {
    const from = there[random(there.length)] as string;
    const to = `${names[random(3)]}${random(3)}`;
    if (!tree.has(to)) moveTree(tree, from, to);
    return;
  }
  for (let depth = 1; depth < parts.length; depth += 1) {
    const above = parts.slice(0, depth).join('/');
    if (tree.get(above)?.type !== 'directory') removeAt(above);
    tree.set(above, { type: 'directory' });
  }
  removeAt(path);
  const kind = random(8);
  if (kind === 0) tree.set(path, { type: 'directory' });
  else if (kind === 1) tree.set(path, { type: 'symlink', target: `${author}${random(3)}` });
  else tree.set(path, { type: 'file', digest: `${author}${random(40)}`, executable: random(5) === 0 });
}

const contents = (tree: ReadonlyMap<string, Entry>) =>
  new Set([...tree.values()].flatMap((entry) => (entry.type === 'file' ? [entry.digest] : [])));

describe('random edits on both sides', () => {
  it('converge in one round, and no version is lost that its own side did not give up', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = randomFrom(seed);
      let base = new Map<string, Entry>();
      const local = new Map<string, Entry>();
      const remote = new Map<string, Entry>();
      for (let round = 0; round < 4; round += 1) {
        for (let count = random(6); count > 0; count -= 1) edit(local, random, 'l');
        for (let count = random(6); count > 0; count -= 1) edit(remote, random, 'r');
        const before = { local: new Map(local), remote: new Map(remote), base };
        let copies = 0;
        const planned = plan({
          base,
          local: found(local),
          remote: found(remote),
          mode: 'two-way',
          conflictPath: (path) => `${path}.copy-${round}-${copies++}`,
        });
        carryOut(local, remote, planned.actions);
        const label = `seed ${seed}, round ${round}`;
        expect(Object.fromEntries([...local].sort()), label).toEqual(Object.fromEntries([...remote].sort()));
        // An entry that a side made or changed is somewhere; one that both had and one side deleted or replaced may go.
        const known = contents(base);
        const kept = contents(local);
        for (const side of [before.local, before.remote])
          for (const digest of contents(side))
            if (!known.has(digest)) expect(kept.has(digest), `${label}: ${digest}`).toBe(true);
        base = new Map(local);
        const again = plan({
          base,
          local: found(local),
          remote: found(remote),
          mode: 'two-way',
          conflictPath: (path) => path,
        });
        expect(again.actions, label).toEqual([]);
      }
    }
  });

  it.each(['push', 'pull'] as const)('%s makes the following side have all that the source has', (mode) => {
    for (let seed = 1; seed <= 120; seed += 1) {
      const random = randomFrom(seed);
      const trees = { local: new Map<string, Entry>(), remote: new Map<string, Entry>() };
      const { local, remote } = trees;
      let base = new Map<string, Entry>();
      for (let round = 0; round < 3; round += 1) {
        for (let count = random(6); count > 0; count -= 1) edit(local, random, 'l');
        for (let count = random(6); count > 0; count -= 1) edit(remote, random, 'r');
        const source = new Map(mode === 'push' ? local : remote);
        const planned = plan({
          base,
          local: found(local),
          remote: found(remote),
          mode,
          conflictPath: (path) => path,
        });
        carryOut(local, remote, planned.actions);
        const follower = mode === 'push' ? remote : local;
        expect(mode === 'push' ? local : remote).toEqual(source);
        for (const [path, entry] of source) expect(sameEntry(follower.get(path), entry), path).toBe(true);
        base = new Map(source);
      }
    }
  });
});

import { expect, it } from 'vitest';
import { type ForkTree, forkTree } from '../src/format/fork-tree.js';

const of = (text: string) =>
  text.split(' ').map((pair) => {
    const [sandboxId = '', forkedFrom] = pair.split('<');
    return { sandboxId, forkedFrom };
  });
const shown = ({
  sandboxId,
  known,
  forks,
}: ForkTree<{ sandboxId: string; forkedFrom: string | undefined }>): string =>
  `${sandboxId}${known === undefined ? '?' : ''}${forks.length === 0 ? '' : `(${forks.map(shown).join(' ')})`}`;

it.each([
  ['a', 'a', 'a'],
  ['a b<a c<a d<c e', 'd', 'a(b c(d))'],
  ['a b<a', 'a', 'a(b)'],
  ['b<gone c<gone', 'c', 'gone?(b c)'],
  ['a', 'missing', 'missing?'],
  ['a<b b<a', 'a', 'b(a)'],
  ['a<a', 'a', 'a'],
])('of %s, around %s, is %s', (all, id, tree) => expect(shown(forkTree(of(all), id))).toBe(tree));

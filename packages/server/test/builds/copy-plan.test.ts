import { describe, expect, it } from 'vitest';
import { type ListedEntry, planCopy } from '../../src/templates/builds/files/copy-plan.js';

const entries: ListedEntry[] = [
  { path: 'app', directory: true },
  { path: 'app/main.js', directory: false },
  { path: 'app/lib', directory: true },
  { path: 'app/lib/a.js', directory: false },
  { path: 'application', directory: false },
  { path: 'bare/deep/file', directory: false },
  { path: 'odd[1].txt', directory: false },
];

function outcome(source: string) {
  const plan = planCopy(source, entries);
  const taken = entries.flatMap(({ path }) => {
    const target = plan.targetOf(path);
    return target === undefined ? [] : [`${path} -> ${target}`];
  });
  return { kind: plan.kind, taken };
}

describe('what a COPY takes', () => {
  it.each([
    ['app', 'tree', ['app/main.js -> main.js', 'app/lib -> lib', 'app/lib/a.js -> lib/a.js']],
    ['./app/', 'tree', ['app/main.js -> main.js', 'app/lib -> lib', 'app/lib/a.js -> lib/a.js']],
    ['/application', 'file', ['application -> application']],
    ['app/lib/a.js', 'file', ['app/lib/a.js -> a.js']],
    ['bare', 'tree', ['bare/deep/file -> deep/file']],
    ['.', 'tree', entries.map(({ path }) => `${path} -> ${path}`)],
    ['app/*.js', 'file', ['app/main.js -> main.js']],
    ['app/**/*.js', 'tree', ['app/main.js -> main.js', 'app/lib/a.js -> a.js']],
    [
      'a*',
      'tree',
      ['app/main.js -> main.js', 'app/lib -> lib', 'app/lib/a.js -> lib/a.js', 'application -> application'],
    ],
    ['app?ication', 'file', ['application -> application']],
    ['odd[[]1].txt', 'file', ['odd[1].txt -> odd[1].txt']],
    ['[!b]pplication', 'file', ['application -> application']],
  ])('of %j is %s', (source, kind, taken) => {
    expect(outcome(source)).toEqual({ kind, taken });
  });

  it.each(['ap', 'missing', 'app/*.ts', '../app'])('is an error when nothing fits %j', (source) => {
    expect(() => planCopy(source, entries)).toThrow(/COPY/);
  });
});

import { expect, it } from 'vitest';
import { compareTimes, describeTimes, overBudget, type TestFile } from '../../../scripts/test-times.mjs';

const file = (name: string, seconds: number, more: Partial<TestFile> = {}): TestFile => ({
  name,
  package: 'packages/one',
  seconds,
  setUps: [],
  tests: [],
  ...more,
});
const budgets = { a: 20, b: 20, c: 20, d: 40 };

it('fails a file that takes more than its budget by half, and one without a budget above fifteen seconds', () => {
  const files = [
    file('a', 31),
    file('b', 10),
    file('c', 10),
    file('d', 20),
    file('new', 15.1),
    file('small', 14),
  ];
  expect(overBudget(files, budgets)).toEqual({
    pace: 1,
    judged: true,
    over: [
      { name: 'a', seconds: 31, allowed: 30 },
      { name: 'new', seconds: 15.1, allowed: 15 },
    ],
  });
});

it('judges a file by the others of its run, so that a slower machine fails none and hides none', () => {
  const slower = [file('a', 12), file('b', 12), file('c', 12), file('d', 71)];
  expect(overBudget(slower, budgets)).toEqual({ pace: 1.2, judged: true, over: [] });
  expect(overBudget([...slower.slice(0, 3), file('d', 73)], budgets).over.map(({ name }) => name)).toEqual([
    'd',
  ]);
});

it('judges nobody on a busy machine', () => {
  const busy = [file('a', 14), file('b', 14), file('c', 14), file('d', 500)];
  expect(overBudget(busy, budgets)).toMatchObject({ pace: 1.4, judged: false, over: [{ name: 'd' }] });
});

it('judges nobody where the machine was busy for part of the run', () => {
  const partly = [file('a', 10), file('b', 10), file('c', 10), file('d', 34), file('e', 17), file('f', 500)];
  expect(overBudget(partly, { ...budgets, e: 20, f: 20 })).toMatchObject({ pace: 1, judged: false });
});

it('says what became slower or faster, what came and what left', () => {
  const before = { files: [file('a', 10), file('b', 10), file('gone', 3)] };
  const after = { files: [file('a', 20), file('b', 11), file('new', 4)] };
  expect(compareTimes(before, after).map((line) => line.trim().replace(/ +/g, ' '))).toEqual([
    '23.0 -> 35.0 all files',
    '10.0 -> 20.0 a',
    '-> 4.0 new: new',
    '3.0 -> gone: left out',
  ]);
});

it('reports jobs with what ran beside them, files by package, and the slowest tests and set-ups', () => {
  const files = [
    file('a', 9, { tests: [{ name: 'waits', seconds: 8 }], setUps: [{ name: 'import', seconds: 1 }] }),
    file('b', 2, { tests: [{ name: 'is quick', seconds: 1 }] }),
  ];
  const jobs = [
    { name: 'first', begin: 0, end: 10 },
    { name: 'second', begin: 5, end: 20 },
    { name: 'third', begin: 20, end: 30 },
  ];
  const text = describeTimes({ files, jobs }).join('\n');
  expect(text).toMatch(/first \| beside second\n/);
  expect(text).toMatch(/third\n/);
  expect(text).toMatch(/11\.0 +2 +packages\/one\n +9\.0 +1 +a\n/);
  expect(text).toMatch(/8\.0 +a: waits\n +1\.0 +b: is quick/);
  expect(text).toMatch(/1\.0 +a: import/);
});

import { linkProblem, pathProblem } from '@svc/sdk/local-trees';
import { expect, it } from 'vitest';
import { compileRules } from '../src/rules/ignore.js';

it.each([
  ['a', undefined],
  ['a/b c/ü\n"', undefined],
  ['..a/...', undefined],
  ['', 'leads out of the directory'],
  ['..', 'leads out of the directory'],
  ['a/../b', 'leads out of the directory'],
  ['/a', 'leads out of the directory'],
  ['a//b', 'leads out of the directory'],
  ['a/./b', 'leads out of the directory'],
  ['a\0b', 'leads out of the directory'],
  ['x'.repeat(256), 'too long'],
  [`${'x/'.repeat(2_000)}x`, 'too long'],
  ['bro\ufffdken', 'not UTF-8'],
])('the path %j: %s', (path, problem) => {
  const said = pathProblem(path, 'linux');
  if (problem === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(problem);
});

it.each(['con', 'NUL.txt', 'a:b', 'a\\b', 'trailing.', 'trailing ', 'what?'])(
  'Windows has no name %j',
  (name) => {
    expect(pathProblem(name, 'win32')).toContain('Windows');
    expect(pathProblem(name, 'linux')).toBeUndefined();
  },
);

it.each([
  ['l', 'a/b', undefined],
  ['l', '.', undefined],
  ['d/l', '../a', undefined],
  ['d/e/l', '../../a/b', undefined],
  ['d/l', './../a', undefined],
  ['l', '..', 'leads out'],
  ['d/l', '../../a', 'leads out'],
  ['l', '/etc/passwd', 'absolute'],
  ['l', '//x', 'absolute'],
  // `a` may be a link to somewhere less deep than it seems.
  ['l', 'a/..', '.. behind a name'],
  ['d/e/l', 'a/b/../../..', '.. behind a name'],
  ['l', '', 'cannot be used'],
])('the link %s to %j: %s', (path, target, problem) => {
  const said = linkProblem(path, target, 'linux');
  if (problem === undefined) expect(said).toBeUndefined();
  else expect(said).toContain(problem);
});

it('leaves its own drafts and version control out despite the rules', async () => {
  const rules = await compileRules([{ directory: '', rules: ['!.git', '!.svc-sync-1', '!.svcignore'] }], {
    vcs: false,
  });
  for (const path of ['.git', 'a/.git', '.svc-sync-1', 'a/.svc-sync-1', '.svcignore'])
    expect(rules.excludes(path, path.endsWith('.git')), path).toBe(true);
  expect(rules.excludes('.gitignore', false)).toBe(false);
  expect((await compileRules([], { vcs: true })).excludes('.git', true)).toBe(false);
});

it('lets the rules of an inner directory win over those of outer ones', async () => {
  const rules = await compileRules(
    [
      { directory: '', rules: '*.log\nbuild/\n' },
      { directory: 'sub', rules: '!keep.log\nown' },
    ],
    { vcs: false },
  );
  expect(rules.excludes('a.log', false)).toBe(true);
  expect(rules.excludes('sub/a.log', false)).toBe(true);
  expect(rules.excludes('sub/keep.log', false)).toBe(false);
  expect(rules.excludes('sub/own', false)).toBe(true);
  expect(rules.excludes('own', false)).toBe(false);
  expect([rules.excludes('build', true), rules.excludes('build', false)]).toEqual([true, false]);
  // A directory that might be taken back in part has to be listed.
  expect(rules.names).not.toContain('build');
  expect(
    (await compileRules([{ directory: '', rules: ['node_modules/', 'a/b', '*.o'] }], { vcs: true })).names,
  ).toEqual(['node_modules']);
});

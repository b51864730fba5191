import { expect, test } from 'vitest';
import { InvalidPathError, resolvePath } from '../../src/paths/index.js';

const base = { home: '/home/ann', workdir: undefined };

test.each([
  ['', '/home/ann'],
  ['~', '/home/ann'],
  ['~/', '/home/ann'],
  ['~/a/../b', '/home/ann/b'],
  ['a b', '/home/ann/a b'],
  ['./a', '/home/ann/a'],
  ['../bob', '/home/bob'],
  ['../../..', '/'],
  ['/x/../y/', '/x/../y/'],
  ['-rf', '/home/ann/-rf'],
  ['a~', '/home/ann/a~'],
])('%j is %s', (path, expected) => {
  expect(resolvePath(path, base)).toBe(expected);
});

test('an empty path is the working directory, which is itself relative to the home', () => {
  expect(resolvePath('', { ...base, workdir: '/work' })).toBe('/work');
  expect(resolvePath('', { ...base, workdir: '~/app' })).toBe('/home/ann/app');
  expect(resolvePath('x', { ...base, workdir: '/work' })).toBe('/home/ann/x');
});

test.each(['~bob', '~bob/x', 'a\0b'])('%j is refused', (path) => {
  expect(() => resolvePath(path, base)).toThrow(InvalidPathError);
});

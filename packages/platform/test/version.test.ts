import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { withVersion } from '../../../scripts/version.mjs';

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
const one = (path: string, text: string) => withVersion(new Map([[path, text]]), '9.8.7').get(path)!;
/** The lines of a file that the new version changes, as they are then. */
const changed = (path: string) => {
  const before = read(path).split('\n');
  const after = one(path, read(path)).split('\n');
  expect(after).toHaveLength(before.length);
  return after.filter((line, at) => line !== before[at]).map((line) => line.trim());
};

describe('a new version', () => {
  it('is that of a manifest, and of the siblings that it takes', () => {
    const lines = changed('packages/server/package.json');
    expect(lines.length).toBeGreaterThan(5);
    expect(lines).toContain('"version": "9.8.7",');
    expect(lines.filter((line) => !/^"(version|@svc\/[a-z-]+)": "9\.8\.7",?$/.test(line))).toEqual([]);
  });

  it('leaves siblings alone that are taken in another one', () => {
    const text = '{"version":"1.0.0","dependencies":{"@svc/a":"1.0.0","@svc/b":"^0.9.0","c":"1.0.0"}}';
    expect(JSON.parse(one('packages/x/package.json', text))).toEqual({
      version: '9.8.7',
      dependencies: { '@svc/a': '9.8.7', '@svc/b': '^0.9.0', c: '1.0.0' },
    });
  });

  it('is that of the packages of this repository in the lock file, and of no other', () => {
    const { version } = JSON.parse(read('package.json'));
    const lines = changed('package-lock.json');
    expect(lines.length).toBeGreaterThan(30);
    expect(lines.filter((line) => !/^"(version|@svc\/[a-z-]+)": "9\.8\.7",?$/.test(line))).toEqual([]);
    const text = { version, packages: { 'node_modules/c': { version }, 'packages/a': { version } } };
    expect(JSON.parse(one('package-lock.json', JSON.stringify(text)))).toEqual({
      version: '9.8.7',
      packages: { 'node_modules/c': { version }, 'packages/a': { version: '9.8.7' } },
    });
  });

  it.each([
    ['packages/cli/src/cli/version.ts', "export const cliVersion = '9.8.7';"],
    ['packages/sdk/src/config/version.ts', "export const sdkVersion = '9.8.7';"],
    ['spec/platform.yaml', 'version: 9.8.7'],
    ['spec/daemon.yaml', 'version: 9.8.7'],
    ['spec/operator.yaml', 'version: 9.8.7'],
    ['spec/volumes.yaml', 'version: 9.8.7'],
  ])('stands in %s', (path, line) => {
    expect(changed(path)).toEqual([line]);
  });

  it('is missed in a file that does not name it', () => {
    expect(() => one('spec/platform.yaml', 'openapi: 3.1.0\n')).toThrow('does not name its version');
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fromEntry, fromWatchEvent, fromWritten } from '../../src/files/wire.js';
import { entryName, relativeName } from '../../src/untrusted/entry-name.js';
import { isVersionControl, takenMode } from '../../src/untrusted/tree-rules.js';
import { fromVolumeEntry } from '../../src/volumes/wire.js';

const wrong = ['', '.', '..', '../x', 'a/b', '/', '/etc/passwd', 'a/', 'nul\0', './x', 'a/../../x'];
const right = ['a', '.a', '..a', '...', 'a b', 'ü', 'a\\b', 'a:b', 'line\nend', '~', '-rf'];

const entry = (name: string) => ({
  name,
  path: '/home/user/x',
  type: 1,
  size: 1n,
  mode: 0o644,
  metadata: {},
});
/** Everything of the SDK that takes a name of an entry out of an answer. */
const readers: Record<string, (name: string) => { name: string } | undefined> = {
  'stat, list, move': (name) => fromEntry(entry(name) as never),
  'an entry of a watch': (name) => fromWatchEvent({ type: 1, name: 'x', entry: entry(name) } as never)?.entry,
  'an upload': (name) => fromWritten([{ name, path: '/x' }])[0],
  'a volume': (name) => fromVolumeEntry({ name, path: '/x', type: 'file' } as never),
};

describe.each(Object.keys(readers))('the name of %s', (reader) => {
  const read = readers[reader]!;
  it.each(wrong)('cannot be %j', (name) => {
    expect(() => read(name)).toThrow(/which no entry can be called/);
  });
  it.each(right)('can be %j', (name) => {
    expect(read(name)?.name).toBe(name);
  });
});

it('calls the root alone /', () => {
  expect(entryName('/', '/')).toBe('/');
  expect(() => entryName('/', '/x')).toThrow();
});

it('splits paths of watches at their slashes', () => {
  for (const path of ['a', 'a/b', 'a/..b']) expect(relativeName(path)).toBe(path);
  for (const path of ['..', 'a/../b', '/a', 'a/', 'a//b', '', './a', 'a/\0'])
    expect(() => relativeName(path), path).toThrow(/which no entry can be called/);
  expect(() => fromWatchEvent({ type: 1, name: 'a/../../b' } as never)).toThrow();
});

it('knows version control under the names that file systems take for it', () => {
  for (const name of ['.git', '.GIT', '.Git', '.g\u200cit', 'GIT~1', '.svn', '.hg', '.jj'])
    expect(isVersionControl(name), name).toBe(true);
  for (const name of ['.gitignore', '.github', 'git', '.gitmodules', 'git~'])
    expect(isVersionControl(name), name).toBe(false);
});

it('leaves nobody but the owner the right to write, and nobody the rights of the owner', () => {
  expect([0o7777, 0o4755, 0o666, 0o600, 0o444, 0].map(takenMode)).toEqual([
    0o755, 0o755, 0o644, 0o600, 0o444, 0,
  ]);
});

/** Lines that put the name of an entry into a path although they may: it comes from this machine. */
const LOCAL_NAMES = [
  "sync/src/read-rules.ts: const path = directory === '' ? entry.name : `${directory}/${entry.name}`;",
];

it('builds no path of this machine from a name of an answer', () => {
  const packages = fileURLToPath(new URL('../../..', import.meta.url));
  const found: string[] = [];
  for (const folder of [
    'sdk/src',
    'sync/src',
    'testing/src',
    'cli/src',
    'agents/src',
    'code-interpreter/src',
  ])
    for (const file of readdirSync(join(packages, folder), { recursive: true, encoding: 'utf8' }))
      if (file.endsWith('.ts') && !file.startsWith('gen/'))
        for (const line of readFileSync(join(packages, folder, file), 'utf8').split('\n'))
          if (/\b(?:join|resolve)\([^)]*\.name\b|\/\$\{[\w.]*\.name\}/.test(line))
            found.push(`${folder}/${file}: ${line.trim()}`);
  expect(found).toEqual(LOCAL_NAMES);
});

import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFiles } from '../../src/linux-driver/checkpoints/host-files.js';
import { requireDistinctMappings } from '../../src/linux-driver/criu/duplicate-mappings.js';
import { findUndumpable } from '../../src/linux-driver/criu/undumpable.js';

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'proc-'));
});
afterEach(() => rmSync(proc, { recursive: true, force: true }));

/** A process with mappings, each a line of `maps` from the device on, and descriptors. */
function process(pid: number, mappings: string[], open: string[] = []): void {
  mkdirSync(join(proc, `${pid}`, 'fd'), { recursive: true });
  const lines = mappings.map((rest, index) => `${rangeOf(index)} r-xp 00000000 ${rest}\n`);
  writeFileSync(join(proc, `${pid}`, 'maps'), lines.join(''));
  open.forEach((path, fd) => {
    symlinkSync(path, join(proc, `${pid}`, 'fd', `${fd}`));
  });
}

const rangeOf = (index: number) => `${(0x7f00 + index).toString(16)}-${(0x7f01 + index).toString(16)}`;
const named = (path: string) => `00:1c 1234                       ${path}`;

/** Counts the turns that others get while something is done. */
async function turnsDuring(task: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let going = true;
  const count = () => {
    turns += 1;
    if (going) setImmediate(count);
  };
  setImmediate(count);
  await task();
  going = false;
  return turns;
}

describe('the files that programs of an instance have open', () => {
  it('are those below /usr of all that live', async () => {
    process(1, [named('/usr/lib/libc.so.6'), named('/home/user/mine')], ['/usr/share/a', 'socket:[7]']);
    process(2, [named('/usr/bin/dash')]);
    expect(await openFiles([1, 404, 2], proc)).toEqual(
      new Set(['/usr/lib/libc.so.6', '/usr/share/a', '/usr/bin/dash']),
    );
  });

  it('keep the letters of their names', async () => {
    process(1, [named('/usr/share/Főtanúsítvány.crt')], ['/usr/share/größer']);
    expect(await openFiles([1], proc)).toEqual(
      new Set(['/usr/share/Főtanúsítvány.crt', '/usr/share/größer']),
    );
  });

  it('are looked for in turns with others, and not in all of more descriptors than anybody should wait for', async () => {
    process(
      1,
      Array.from({ length: 100_000 }, () => named(`/usr/lib/${'x'.repeat(100)}`)),
    );
    process(
      2,
      [],
      Array.from({ length: 1_000 }, () => '/usr/share/open'),
    );
    process(3, [], ['/usr/share/late']);
    const turns = await turnsDuring(async () => {
      const found = await openFiles([1, ...Array(20).fill(2), 3], proc);
      expect([...found].filter((path) => path.startsWith('/usr/share'))).toEqual(['/usr/share/open']);
    });
    expect(turns).toBeGreaterThan(3);
  });
});

describe('programs with many files open', () => {
  it('are looked at in turns with others, and refused above a bound', async () => {
    process(
      1,
      [],
      Array.from({ length: 1_000 }, () => '/dev/null'),
    );
    const look = (count: number) => findUndumpable(1, Array(count).fill(1), 2, proc);
    const turns = await turnsDuring(async () => {
      expect(await look(200)).toEqual([]);
    });
    expect(turns).toBeGreaterThan(3);
    expect(await look(201)).toEqual([
      expect.stringMatching(/more than 200000 files open, ".*" \(process \d+\)/),
    ]);
  });
});

describe('files that are mapped side by side', () => {
  /** Files with the content of mappings that the numbers below do not distinguish. */
  function contents(...texts: string[]): void {
    mkdirSync(join(proc, '1', 'map_files'), { recursive: true });
    texts.forEach((text, index) => {
      const path = join(proc, '1', 'map_files', rangeOf(index));
      const same = texts.indexOf(text);
      if (same < index) linkSync(join(proc, '1', 'map_files', rangeOf(same)), path);
      else writeFileSync(path, text);
    });
  }
  const look = () => requireDistinctMappings([1], proc);

  it('are refused where they have the same numbers', async () => {
    process(1, [named('/one/file'), named('/two/file')]);
    contents('one', 'two');
    await expect(look()).rejects.toThrow('/one/file and /two/file');
  });

  it('are refused where a deleted name was that of both', async () => {
    process(1, [named('/file (deleted)'), named('/file (deleted)')]);
    contents('one', 'two');
    await expect(look()).rejects.toThrow('distinguish');
  });

  it.each([
    { title: 'two names of one file', mappings: ['/one/file', '/one/link'], texts: ['one', 'one'] },
    { title: 'parts of one file', mappings: ['/one/file', '/one/file'], texts: ['one', 'two'] },
  ])('are stored if they are $title', async ({ mappings, texts }) => {
    process(1, mappings.map(named));
    contents(...texts);
    await expect(look()).resolves.toBeUndefined();
  });

  it('are stored if other memory is between them', async () => {
    process(1, [named('/one/file'), '00:00 0', named('/two/file')]);
    contents('one', '', 'two');
    await expect(look()).resolves.toBeUndefined();
  });

  it('are looked for in turns with others, and refused where they are more than anybody should wait for', async () => {
    const many = Array.from({ length: 90_000 }, (_, index) =>
      named(`/usr/lib/${'x'.repeat(150)}${index % 7}`),
    );
    process(1, many);
    const turns = await turnsDuring(async () => {
      await expect(look()).resolves.toBeUndefined();
    });
    expect(turns).toBeGreaterThan(3);
    process(1, [...many, ...many]);
    await expect(look()).rejects.toThrow('too many memory mappings');
  });
});

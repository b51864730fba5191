import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFiles } from '../src/linux-driver/checkpoints/host-files.js';

describe('the files that programs of an instance have open', () => {
  let proc: string;
  beforeEach(() => {
    proc = mkdtempSync(join(tmpdir(), 'proc-'));
  });
  afterEach(() => rmSync(proc, { recursive: true, force: true }));

  function process(pid: number, maps: string[], open: string[]): void {
    mkdirSync(join(proc, `${pid}`, 'fd'), { recursive: true });
    const lines = maps.map((path) => `7f00-7f01 r-xp 00000000 00:1c 1234 ${path}\n`);
    writeFileSync(join(proc, `${pid}`, 'maps'), lines.join(''));
    open.forEach((path, fd) => {
      symlinkSync(path, join(proc, `${pid}`, 'fd', `${fd}`));
    });
  }

  it('are those below /usr of all that live', () => {
    process(1, ['/usr/lib/libc.so.6', '/home/user/mine'], ['/usr/share/a', 'socket:[7]']);
    process(2, ['/usr/bin/dash'], []);
    expect(openFiles([1, 404, 2], proc)).toEqual(
      new Set(['/usr/lib/libc.so.6', '/usr/share/a', '/usr/bin/dash']),
    );
  });

  it('are not all looked for where one has more than anybody should wait for', () => {
    const many = Array.from({ length: 90_000 }, (_, index) => `/usr/lib/${'x'.repeat(100)}${index}`);
    process(1, many, []);
    process(2, ['/usr/lib/late'], ['/usr/share/open']);
    const found = openFiles([1, 2], proc);
    expect(found).not.toContain('/usr/lib/late');
    expect(found).toContain('/usr/share/open');
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, lstat, readdir, readFile, symlink, writeFile as write } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import {
  changeEntry,
  createDirectory,
  deleteEntry,
  listEntries,
  openFile,
  readEntry,
  writeFile,
} from '../../src/volumes/operations.js';
import { makeVolumeDirectory, outside, root, SECRET } from '../support/volume-directory.js';

const FILES = ['file', 'canary', 'in/file', 'in/canary', 'in/deep/file', 'in/deep/canary'];
/** Calls of each operation while a program swaps what they go through. */
const TRIES = Number(process.env.SVC_ESCAPE_TRIES ?? (process.env.SVC_HEAVY ? 20_000 : 150));

makeVolumeDirectory(FILES);
let swapper: ChildProcess | undefined;

afterEach(() => {
  swapper?.kill('SIGKILL');
});

async function stateOfOutside(): Promise<string> {
  const lines = [];
  for (const name of ['.', ...(await readdir(outside, { recursive: true })).sort()]) {
    const { mode, uid, gid, nlink } = await lstat(path.join(outside, name));
    lines.push([name, mode, uid, gid, nlink].join(' '));
  }
  for (const name of FILES) lines.push(await readFile(path.join(outside, name), 'utf8'));
  return lines.join('\n');
}

/** Perl that goes round until it is killed. */
async function start(body: string): Promise<void> {
  const program = `chdir $ARGV[0] or die; $| = 1; my $out = $ARGV[1]; print "ready\\n"; for (;;) { ${body} }`;
  swapper = spawn('perl', ['-e', program, root, outside], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(swapper.stdout!, 'data');
}

/** A directory that is a link half of the time, a file that is one, and a directory that changes its place. */
const SWAPS: [string, string][] = [
  [
    'links in the place of directories',
    'mkdir "d"; mkdir "d/in"; rename "d", "k"; symlink $out, "d"; unlink "d"; rename "k", "d";',
  ],
  [
    'links in the place of files',
    'mkdir "d"; mkdir "d/in"; open my $h, ">", "t"; close $h; rename "t", "d/file"; symlink "$out/file", "s"; rename "s", "d/file"; symlink "$out/in", "s"; rename "s", "d/in"; unlink "d/in"; mkdir "d/in";',
  ],
  [
    'directories that move',
    'mkdir "d"; mkdir "d/in"; mkdir "x"; rename "d/in", "x/in"; symlink "..", "d/in"; unlink "d/in"; rename "x/in", "d/in";',
  ],
  [
    'hard links',
    'mkdir "d"; open my $h, ">", "own"; close $h; unlink "d/file"; link "own", "d/file"; rename "own", "d/in";',
  ],
];

const paths = ['d/file', 'd/in/file', 'd/in/deep/file', 'd/../d/in/file', 'd/in/../../../outside/file'];

async function read(at: string): Promise<string> {
  return text((await openFile(root, at)).content);
}

describe('a volume whose files a program swaps while they are worked on', () => {
  it.each(SWAPS)(
    'gives and changes nothing outside of it: %s',
    async (_, body) => {
      const before = await stateOfOutside();
      await start(body);
      const gone = () => undefined;
      let settled = 0;
      for (let round = 0; round < TRIES; round += 1) {
        const at = paths[round % paths.length]!;
        const unique = `${round}`;
        const results = await Promise.all([
          read(at).catch(gone),
          readEntry(root, at).catch(gone),
          changeEntry(root, at, { mode: 0o4777, uid: 1234, gid: 1234 }).catch(gone),
          writeFile(root, at, Readable.from([Buffer.from('mine')]), { force: true, unique }).catch(gone),
          createDirectory(root, `${path.dirname(at)}/made${round % 3}`, { force: true }).catch(gone),
          listEntries(root, 'd', 3).catch(() => []),
          // A jailed process for a directory: not each time.
          ...(round % 50 === 0 ? [deleteEntry(root, 'd/in').catch(gone)] : []),
        ]);
        expect(results[0]).not.toBe(SECRET);
        expect(JSON.stringify(results[5])).not.toContain('canary');
        if (results.some((result) => result !== undefined)) settled += 1;
      }
      swapper!.kill('SIGKILL');
      await once(swapper!, 'close');
      expect(settled).toBeGreaterThan(TRIES / 20);
      expect(await stateOfOutside()).toBe(before);
    },
    1_200_000,
  );

  it('knows no way round by /proc, links to links and hard links', async () => {
    const before = await stateOfOutside();
    await symlink('/proc/self/root', path.join(root, 'proc'));
    await symlink(`/proc/self/root${outside}`, path.join(root, 'through'));
    await symlink(`/proc/${process.pid}/cwd`, path.join(root, 'cwd'));
    await symlink('up', path.join(root, 'up2'));
    await symlink('../../../../../..', path.join(root, 'up'));
    for (const way of ['proc', 'through', 'cwd', 'up', 'up2']) {
      const at = `${way}${outside}/file`;
      await expect(read(at)).rejects.toThrow();
      await expect(read(`${way}/file`)).rejects.toThrow();
      await expect(changeEntry(root, `${way}/file`, { mode: 0o777 })).rejects.toThrow();
    }
    await write(path.join(root, 'own'), 'own');
    await link(path.join(root, 'own'), path.join(root, 'second'));
    await deleteEntry(root, 'second');
    expect(await read('own')).toBe('own');
    expect(await stateOfOutside()).toBe(before);
  });
});

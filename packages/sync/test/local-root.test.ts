import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  Changed,
  deleteLocal,
  linkLocal,
  makeLocalDirectory,
  removeLocalDirectory,
  renameLocal,
  writeLocal,
} from '../src/local/change-local.js';
import { fingerprintOf, hasCode, LocalRoot } from '../src/local/local-root.js';

let scratch: string;
let inside: string;
let outside: string;
let root: LocalRoot;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-sync-root-'));
  [inside, outside] = [join(scratch, 'inside'), join(scratch, 'outside')];
  await mkdir(join(inside, 'd'), { recursive: true });
  await mkdir(outside);
  await writeFile(join(outside, 'kept'), 'kept');
  root = await LocalRoot.open(inside);
});
afterEach(async () => {
  await root.close();
  await rm(scratch, { recursive: true, force: true });
});

const facts = { mode: 0o644, modifiedMs: 0, expected: undefined };
const fill = (text: string) => async (file: { writeFile(text: string): Promise<unknown> }) => {
  await file.writeFile(text);
  return true;
};
const printOf = async (path: string) => fingerprintOf(await lstat(join(inside, path), { bigint: true }));

it('does nothing through a link in the way, wherever it leads', async () => {
  await symlink(outside, join(inside, 'link'));
  await symlink('d', join(inside, 'near'));
  for (const directory of ['link', 'near']) {
    const tries = [
      writeLocal(root, `${directory}/new`, facts, fill('x')),
      makeLocalDirectory(root, `${directory}/new`),
      linkLocal(root, `${directory}/new`, 'kept', undefined),
      deleteLocal(root, `${directory}/kept`, 'any'),
      removeLocalDirectory(root, `${directory}/kept`),
      renameLocal(root, `${directory}/kept`, 'stolen', 'any'),
    ];
    for (const result of await Promise.allSettled(tries)) expect(result.status).toBe('rejected');
  }
  expect(await readdir(outside)).toEqual(['kept']);
  expect(await readdir(join(inside, 'd'))).toEqual([]);
});

it('does not follow or replace a link, or anything else, where nothing was expected', async () => {
  await symlink(join(outside, 'kept'), join(inside, 'l'));
  await symlink(join(outside, 'new'), join(inside, 'dangling'));
  await writeFile(join(inside, 'f'), 'mine');
  for (const path of ['l', 'dangling', 'f', 'd'])
    await expect(writeLocal(root, path, facts, fill('x')), path).rejects.toThrow(Changed);
  expect(await readFile(join(outside, 'kept'), 'utf8')).toBe('kept');
  expect(await readdir(outside)).toEqual(['kept']);
  expect(await readFile(join(inside, 'f'), 'utf8')).toBe('mine');
  expect((await readdir(inside)).sort()).toEqual(['d', 'dangling', 'f', 'l']);
});

it('replaces, moves and deletes only what is still as it was looked at', async () => {
  await writeFile(join(inside, 'f'), 'seen');
  const seen = await printOf('f');
  await writeFile(join(inside, 'f'), 'edited');
  await expect(writeLocal(root, 'f', { ...facts, expected: seen }, fill('x'))).rejects.toThrow(Changed);
  await expect(deleteLocal(root, 'f', seen)).rejects.toThrow(Changed);
  await expect(renameLocal(root, 'f', 'g', seen)).rejects.toThrow(Changed);
  await writeFile(join(inside, 'd/new'), '');
  await expect(removeLocalDirectory(root, 'd')).rejects.toThrow(Changed);
  expect(await readFile(join(inside, 'f'), 'utf8')).toBe('edited');
  await writeLocal(root, 'f', { mode: 0o755, modifiedMs: 1_000, expected: await printOf('f') }, fill('new'));
  const stats = await lstat(join(inside, 'f'));
  expect([stats.mode & 0o7777, stats.mtimeMs]).toEqual([0o755, 1_000]);
  expect((await readdir(inside)).sort()).toEqual(['d', 'f']);
});

it('leaves nothing of a file that was not right, or broke off', async () => {
  await expect(writeLocal(root, 'd/f', facts, async () => false)).rejects.toThrow(Changed);
  await expect(
    writeLocal(root, 'd/f', facts, async () => {
      throw new Error('broken');
    }),
  ).rejects.toThrow('broken');
  expect(await readdir(join(inside, 'd'))).toEqual([]);
});

it.runIf(process.platform === 'linux')(
  'stays in the directory that it entered when a link takes its name',
  async () => {
    const held = await root.enter('d');
    await rename(join(inside, 'd'), join(inside, 'moved'));
    await symlink(outside, join(inside, 'd'));
    await writeFile(held.at('x'), 'x');
    await held.close();
    expect(await readdir(outside)).toEqual(['kept']);
    expect(await readdir(join(inside, 'moved'))).toEqual(['x']);
  },
);

it.runIf(process.platform === 'linux')(
  'writes and deletes nothing outside while a directory is swapped with a link all the time',
  async () => {
    const program = `
    const fs = require('node:fs');
    process.chdir(${JSON.stringify(inside)});
    console.log('ready');
    for (;;) {
      try { fs.renameSync('d', 'e'); fs.symlinkSync(${JSON.stringify(outside)}, 'd'); } catch {}
      try { fs.unlinkSync('d'); fs.renameSync('e', 'd'); } catch {}
    }`;
    const swapping = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(swapping, 'exit');
    try {
      await once(swapping.stdout, 'data');
      let [written, refused] = [0, 0];
      for (let round = 0; round < 400; round += 1) {
        try {
          await writeLocal(root, `d/kept-${round}`, facts, fill('x'));
          written += 1;
          await deleteLocal(root, 'd/kept', 'any').catch((error: unknown) => {
            if (!(error instanceof Changed || hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP'))) throw error;
          });
        } catch (error) {
          if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error;
          refused += 1;
        }
      }
      expect(written + refused).toBe(400);
      expect(await readdir(outside)).toEqual(['kept']);
    } finally {
      swapping.kill('SIGKILL');
      await exited;
    }
  },
);

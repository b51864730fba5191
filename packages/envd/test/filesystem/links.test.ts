import {
  chmod,
  chown,
  lchown,
  mkdtemp,
  open,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { followLinks, statThroughLinks } from '../../src/filesystem/links.js';
import { openFile } from '../../src/sftp/open-file.js';

const user = 65_534;
const stranger = 65_533;
const owner = { uid: user, gid: user };
const linkOwners = new Set([user]);

let scratch: string;
let shared: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'envd-links-'));
  shared = await mkdtemp(join(scratch, 'shared-'));
  await chmod(shared, 0o1777);
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

/** A link in the shared directory that belongs to an account. */
const linkOf = async (uid: number, target: string, name = 'link') => {
  const path = join(shared, name);
  await symlink(target, path);
  await lchown(path, uid, uid);
  return path;
};

/** A file that belongs to an account. */
const fileOf = async (uid: number, path: string, text = 'old') => {
  await writeFile(path, text);
  await chown(path, uid, uid);
  return path;
};

const enforced = async () =>
  (await readFile('/proc/sys/fs/protected_symlinks', 'utf8')).trim() === '1' && process.getuid?.() === 0;

describe('links in a directory that everyone may write to', async () => {
  const settings = await enforced();
  if (!settings) console.warn('skipped: fs.protected_symlinks is not 1, or this is not root');

  it.skipIf(!settings)('leads where a link of the user leads, by any number of links', async () => {
    const real = await fileOf(user, join(scratch, 'real'));
    const third = await linkOf(user, real, 'third');
    await linkOf(user, 'third', 'second');
    // One that stands in an ordinary directory.
    await symlink(join(shared, 'second'), join(scratch, 'first'));
    for (const path of [third, join(shared, 'second'), join(scratch, 'first'), Buffer.from(third)])
      expect(await followLinks(path, linkOwners, (at) => readFile(at, 'utf8'))).toBe('old');
    expect((await statThroughLinks(join(scratch, 'first'))).isFile()).toBe(true);
  });

  it.skipIf(!settings)('takes .. of a link as the kernel does, and names that are not UTF-8', async () => {
    const name = Buffer.concat([Buffer.from(`${scratch}/`), Buffer.from([0xff])]);
    await writeFile(name, 'odd');
    const link = join(shared, 'up');
    await symlink(Buffer.concat([Buffer.from('./../'), Buffer.from([0xff])]), link);
    await lchown(link, user, user);
    expect(await followLinks(link, linkOwners, (at) => readFile(at, 'utf8'))).toBe('odd');
  });

  it.skipIf(!settings)('follows none of a stranger, nor one behind a link of the user', async () => {
    const secret = await fileOf(0, join(scratch, 'secret'), 'kept');
    const planted = await linkOf(stranger, secret, 'planted');
    const behind = await linkOf(user, planted, 'behind');
    for (const path of [planted, behind]) {
      await expect(followLinks(path, linkOwners, (at) => readFile(at))).rejects.toThrow('EACCES');
      const request = { path: Buffer.from(path), flags: 2 | 8 | 16, mode: 0o644, owner, linkOwners };
      await expect(openFile(request)).rejects.toThrow('EACCES');
    }
    expect(await readFile(secret, 'utf8')).toBe('kept');
  });

  it.skipIf(!settings)('makes nothing where a link of a stranger to nothing leads', async () => {
    const target = join(scratch, 'nothing');
    const request = { flags: 2 | 8, mode: 0o644, owner, linkOwners };
    const planted = Buffer.from(await linkOf(stranger, target));
    await expect(openFile({ ...request, path: planted })).rejects.toThrow('EACCES');
    await expect(stat(target)).rejects.toThrow('ENOENT');
    const own = Buffer.from(await linkOf(user, target, 'own'));
    await (await openFile({ ...request, path: own })).close();
    expect((await stat(target)).uid).toBe(user);
  });

  it.skipIf(!settings)('ends for links in a circle', async () => {
    await linkOf(user, 'b', 'a');
    await linkOf(user, 'a', 'b');
    await expect(followLinks(join(shared, 'a'), linkOwners, (at) => open(at))).rejects.toMatchObject({
      code: 'ELOOP',
    });
  });
});

describe('files in a directory that everyone may write to', () => {
  it.each([
    ['the user', user],
    ['root', 0],
    ['a stranger', stranger],
  ])('opens one of %s to write, cut and append', async (_who, uid) => {
    const path = Buffer.from(await fileOf(uid, join(shared, 'file')));
    const request = { path, mode: 0o644, owner, linkOwners };
    for (const flags of [2 | 8, 2 | 8 | 16, 2 | 4 | 8, 1 | 2 | 8]) {
      const file = await openFile({ ...request, flags });
      await file.close();
    }
    await expect(openFile({ ...request, flags: 2 | 8 | 32 })).rejects.toThrow('EEXIST');
    expect((await stat(path)).uid).toBe(uid);
    const made = await openFile({ ...request, path: Buffer.from(join(shared, 'made')), flags: 2 | 8 | 32 });
    expect((await made.stat()).uid).toBe(user);
    await made.close();
  });
});

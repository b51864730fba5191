import {
  chmod,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  rename,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises';
import { nameOf, parentOf } from '../plan/tree.js';
import { draftName } from '../rules/names.js';
import { fingerprintOf, hasCode, type LocalRoot } from './local-root.js';

/**
 * Changes of the local tree. Each is made only where the tree is still as it was looked at; otherwise it throws
 * `Changed`, and nothing was done.
 */
export class Changed extends Error {}

/** What must be at a path: what was found there, by its fingerprint, or nothing. */
export type Expected = string | undefined;

/** Makes a directory; one that is there already is fine. */
export function makeLocalDirectory(root: LocalRoot, path: string): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    const place = at(nameOf(path));
    await mkdir(place).catch(async (error) => {
      if (!hasCode(error, 'EEXIST') || !(await lstat(place)).isDirectory()) throw new Changed(path);
    });
  });
}

/** Removes a directory if nothing is in it. */
export function removeLocalDirectory(root: LocalRoot, path: string): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    await rmdir(at(nameOf(path))).catch((error) => {
      if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR')) throw new Changed(path);
      throw error;
    });
  });
}

/** Deletes a file or link. */
export function deleteLocal(root: LocalRoot, path: string, expected: string): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    const place = at(nameOf(path));
    await expect(place, path, expected);
    await unlink(place);
  });
}

/** Moves a file to a name where nothing is. */
export function renameLocal(root: LocalRoot, path: string, to: string, expected: string): Promise<void> {
  return root.within(parentOf(path), (from) =>
    root.within(parentOf(to), async (at) => {
      const place = from(nameOf(path));
      await expect(place, path, expected);
      await putWhereNothingIs(place, at(nameOf(to)), to);
    }),
  );
}

/** Lets the owner, and who may read it, execute a file, or nobody. */
export function chmodLocal(root: LocalRoot, path: string, mode: number, expected: string): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    const place = at(nameOf(path));
    await expect(place, path, expected);
    await chmod(place, mode);
  });
}

/** Makes a link. */
export function linkLocal(root: LocalRoot, path: string, target: string, expected: Expected): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    const draft = at(draftName());
    await symlink(target, draft);
    await place(draft, at(nameOf(path)), path, expected);
  });
}

/**
 * Writes a file beside its place, then puts it there at once.
 * @param fill writes the content and tells whether it is right; otherwise it is thrown away
 */
export function writeLocal(
  root: LocalRoot,
  path: string,
  facts: { mode: number; modifiedMs: number; expected: Expected },
  fill: (file: FileHandle) => Promise<boolean>,
): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    const draft = at(draftName());
    // Exclusive: should something appear here meanwhile, it is not written to.
    const file = await open(draft, 'wx', 0o600);
    let isRight = false;
    try {
      isRight = await fill(file);
      if (isRight) {
        await file.chmod(facts.mode);
        await file.utimes(facts.modifiedMs / 1000, facts.modifiedMs / 1000);
      }
    } finally {
      await file.close();
      if (!isRight) await unlink(draft).catch(() => {});
    }
    if (!isRight) throw new Changed(path);
    await place(draft, at(nameOf(path)), path, facts.expected);
  });
}

/** Puts a draft in its place. The draft is gone in any case. */
async function place(draft: string, target: string, path: string, expected: Expected): Promise<void> {
  try {
    if (expected === undefined) return await putWhereNothingIs(draft, target, path);
    await expect(target, path, expected);
    await rename(draft, target);
  } catch (error) {
    await unlink(draft).catch(() => {});
    if (hasCode(error, 'EISDIR', 'ENOTDIR', 'ENOTEMPTY')) throw new Changed(path);
    throw error;
  }
}

/** Moves something; whatever has come to its new place meanwhile stays. */
async function putWhereNothingIs(from: string, to: string, path: string): Promise<void> {
  try {
    // A second name can only be made where there is none; a rename would replace what is there.
    await link(from, to);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new Changed(path);
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS')) throw error;
    const found = await lstat(to).catch(() => undefined);
    if (found !== undefined) throw new Changed(path);
    return rename(from, to);
  }
  await unlink(from);
}

async function expect(place: string, path: string, expected: string): Promise<void> {
  const stats = await lstat(place, { bigint: true }).catch((error) => {
    if (hasCode(error, 'ENOENT')) throw new Changed(path);
    throw error;
  });
  if (fingerprintOf(stats) !== expected) throw new Changed(path);
}

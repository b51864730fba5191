import {
  chmodSync,
  closeSync,
  fchmodSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { nameOf, parentOf } from '../plan/tree.js';
import { draftName } from '../rules/names.js';
import { fingerprintOf, hasCode, type LocalRoot } from './local-root.js';

/**
 * Changes of the local tree. Each is made only where the tree is still as it was looked at; otherwise it throws
 * `Changed`, and nothing was done.
 */
export class Changed extends Error {}

/** The expected state of a path: the entry that was found there, by its fingerprint, or nothing. */
export type Expected = string | undefined;

// Steps that take microseconds are not waited for one by one: thousands of files would take seconds.

/** Makes a directory; one that is there already is fine. */
export function makeLocalDirectory(root: LocalRoot, path: string): Promise<void> {
  return root.within(parentOf(path), (at) => {
    const place = at(nameOf(path));
    try {
      mkdirSync(place);
    } catch (error) {
      if (!hasCode(error, 'EEXIST') || !lstatSync(place).isDirectory()) throw new Changed(path);
    }
  });
}

/** Removes a directory if nothing is in it. */
export function removeLocalDirectory(root: LocalRoot, path: string): Promise<void> {
  return root.within(parentOf(path), (at) => {
    try {
      rmdirSync(at(nameOf(path)));
    } catch (error) {
      if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR')) throw new Changed(path);
      throw error;
    }
  });
}

/** Deletes a file or link. */
export function deleteLocal(root: LocalRoot, path: string, expected: string): Promise<void> {
  return root.within(parentOf(path), (at) => {
    const place = at(nameOf(path));
    expectSame(place, path, expected);
    unlinkSync(place);
  });
}

/** Moves a file to a name where nothing is. */
export function renameLocal(root: LocalRoot, path: string, to: string, expected: string): Promise<void> {
  return root.within(parentOf(path), (from) =>
    root.within(parentOf(to), (at) => {
      const place = from(nameOf(path));
      expectSame(place, path, expected);
      putWhereNothingIs(place, at(nameOf(to)), to);
    }),
  );
}

/** Gives a file another mode. */
export function chmodLocal(root: LocalRoot, path: string, mode: number, expected: string): Promise<void> {
  return root.within(parentOf(path), (at) => {
    const place = at(nameOf(path));
    expectSame(place, path, expected);
    chmodSync(place, mode);
  });
}

/** Makes a link. */
export function linkLocal(root: LocalRoot, path: string, target: string, expected: Expected): Promise<void> {
  return root.within(parentOf(path), (at) => {
    const draft = at(draftName());
    symlinkSync(target, draft);
    putInPlace(draft, at(nameOf(path)), path, expected);
  });
}

/** A file to write. */
export interface NewFile {
  /** Of a file that is new the umask takes its part. */
  readonly mode: number;
  readonly modifiedMs: number;
  readonly expected: Expected;
}

/** Writes a small file beside its place, then puts it there at once. */
export function writeSmallLocal(
  root: LocalRoot,
  path: string,
  facts: NewFile,
  bytes: Uint8Array,
): Promise<void> {
  return root.within(parentOf(path), (at) => {
    const draft = at(draftName());
    // Exclusive: should something appear here meanwhile, it is not written to.
    const file = openSync(draft, 'wx', draftMode(facts));
    try {
      writeFileSync(file, bytes);
      if (facts.expected !== undefined) fchmodSync(file, facts.mode);
      futimesSync(file, facts.modifiedMs / 1000, facts.modifiedMs / 1000);
    } catch (error) {
      discard(draft);
      throw error;
    } finally {
      closeSync(file);
    }
    putInPlace(draft, at(nameOf(path)), path, facts.expected);
  });
}

/**
 * Writes a file of any size beside its place, then puts it there at once.
 * @param fill writes the content and returns true when it is right; otherwise it is thrown away
 */
export function writeLocal(
  root: LocalRoot,
  path: string,
  facts: NewFile,
  fill: (file: FileHandle) => Promise<boolean>,
): Promise<void> {
  return root.within(parentOf(path), async (at) => {
    const draft = at(draftName());
    const file = await open(draft, 'wx', draftMode(facts));
    let isRight = false;
    try {
      isRight = await fill(file);
      if (isRight) {
        if (facts.expected !== undefined) await file.chmod(facts.mode);
        await file.utimes(facts.modifiedMs / 1000, facts.modifiedMs / 1000);
      }
    } finally {
      await file.close();
      if (!isRight) discard(draft);
    }
    if (!isRight) throw new Changed(path);
    putInPlace(draft, at(nameOf(path)), path, facts.expected);
  });
}

/** A file that replaces another gets its mode when it is whole; until then nobody else may read it. */
function draftMode({ mode, expected }: NewFile): number {
  return expected === undefined ? mode : 0o600;
}

/** Puts a draft in its place. The draft is deleted in any case. */
function putInPlace(draft: string, target: string, path: string, expected: Expected): void {
  try {
    if (expected === undefined) {
      putWhereNothingIs(draft, target, path);
      return;
    }
    expectSame(target, path, expected);
    renameSync(draft, target);
  } catch (error) {
    discard(draft);
    if (hasCode(error, 'EISDIR', 'ENOTDIR', 'ENOTEMPTY')) throw new Changed(path);
    throw error;
  }
}

/** Moves something; an entry that has come to its new place meanwhile stays. */
function putWhereNothingIs(from: string, to: string, path: string): void {
  try {
    // A second name can only be made where there is none; a rename would replace what is there.
    linkSync(from, to);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new Changed(path);
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS')) throw error;
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) throw new Changed(path);
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

function expectSame(place: string, path: string, expected: string): void {
  const stats = lstatSync(place, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined || fingerprintOf(stats) !== expected) throw new Changed(path);
}

function discard(draft: string): void {
  try {
    unlinkSync(draft);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

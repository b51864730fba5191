import { chmod, link, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Header } from 'tar-stream';
import { isVersionControl, linkProblem, pathProblem, takenMode } from '../../untrusted/tree-rules.js';
import type { ExtractOptions, LocalEntry } from '../contract/local-files.js';
import { foldsCase } from './folds-case.js';

/**
 * The archive comes from a sandbox and is not trusted: names that leave the root are refused, nothing is written through
 * a link, and links are made last, when nothing can follow them any more. Links that lead out, rights beyond those of
 * `takenMode`, version control and entries that are no file, directory or link are left out.
 */
export async function extract(
  root: string,
  archive: AsyncIterable<Uint8Array>,
  options: ExtractOptions,
): Promise<void> {
  const { default: tar } = await import('tar-stream');
  const extraction = tar.extract();
  const links = new Map<string, string>();
  const directories: { path: string; mode: number }[] = [];
  const written = new Set<string>();
  /** The first file of each name, case aside. */
  const firstNames = new Map<string, string>();
  let foldsHere: boolean | undefined;
  /** Files that are not written; a hard link may name them later. */
  const leftOut = new Set<string>();
  /** Version control that was reported. */
  const told = new Set<string>();
  const madeDirectories = new Set<string>();
  await mkdir(root, { recursive: true });
  const feeding = pipeline(Readable.from(archive, { objectMode: true }), extraction);
  // Its failure ends the loop below; it is thrown after it.
  feeding.catch(() => {});
  try {
    for await (const entry of extraction) {
      await place(entry.header, entry as AsyncIterable<Uint8Array>);
      entry.resume();
    }
    await feeding;
  } catch (error) {
    extraction.destroy();
    // The source knows better than the parser why an archive ends early.
    await feeding.catch((cause) => {
      throw isPremature(cause) ? error : cause;
    });
    throw error;
  }
  for (const [path, target] of links) await makeLink(path, target);
  // Last and innermost first: a directory may not be writable once it has its mode.
  for (const { path, mode } of directories.reverse()) {
    const { mode: made } = await lstat(join(root, path));
    await chmod(join(root, path), made & takenMode(mode));
  }

  async function place(header: Header, content: AsyncIterable<Uint8Array>): Promise<void> {
    const type = header.type === 'contiguous-file' ? 'file' : header.type;
    const path = safeName(header.name);
    if (path === '') return;
    if (isLeftOut(path, type === 'directory' || type === 'symlink' ? type : 'file'))
      return void leftOut.add(path);
    if (type !== 'file' && type !== 'directory' && type !== 'symlink' && type !== 'link')
      return skip(path, 'it is no file, directory or link');
    const problem = pathProblem(path) ?? (type === 'directory' ? undefined : await twinProblem(path));
    if (problem !== undefined) return skip(path, problem);
    const absolute = join(root, path);
    await makeParents(path);
    if (type === 'directory') {
      // One that was there is its owner's: it keeps its mode.
      if (await makeDirectory(absolute)) madeDirectories.add(path);
      if (madeDirectories.has(path)) directories.push({ path, mode: header.mode ?? 0o755 });
      options.onEntry?.(path, 0);
    } else if (type === 'symlink') {
      links.set(path, header.linkname ?? '');
    } else if (type === 'link') {
      const source = safeName(header.linkname ?? '');
      if (leftOut.has(source)) return skip(path, `it is a hard link to ${source}, which is left out`);
      const target = links.get(source);
      if (target !== undefined) return void links.set(path, target);
      if (!written.has(source))
        throw new Error(`${path} is a hard link to ${source}, which is not part of the download`);
      await makeRoom(absolute);
      await link(join(root, source), absolute);
      wrote(path);
      options.onEntry?.(path, 0);
    } else {
      await makeRoom(absolute);
      await writeContent(absolute, path, header, content);
      wrote(path);
    }
  }

  function skip(path: string, reason: string): void {
    leftOut.add(path);
    options.onSkipped?.(path, reason);
  }

  async function makeLink(path: string, target: string): Promise<void> {
    const absolute = join(root, path);
    const problem = linkProblem(path, target);
    // An entry that has entries below it in the archive is no link: the archive lies.
    if (madeDirectories.has(path)) throw new Error(`EEXIST: ${path} is a link and a directory`);
    if (problem !== undefined) return skip(path, problem);
    await makeRoom(absolute);
    await symlink(target, absolute);
    options.onEntry?.(path, 0);
  }

  async function writeContent(
    absolute: string,
    path: string,
    header: Header,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    // Exclusive: should a link appear here meanwhile, it is not followed.
    const file = await open(absolute, 'wx', takenMode(header.mode ?? 0o644));
    try {
      for await (const chunk of content) {
        await file.appendFile(chunk);
        options.onEntry?.(path, chunk.length);
      }
      if (header.mtime) await file.utimes(header.mtime, header.mtime);
    } finally {
      await file.close();
    }
    options.onEntry?.(path, 0);
  }

  /** Directories above an entry; each must be one, and no link to one. */
  async function makeParents(path: string): Promise<void> {
    const parts = path.split('/').slice(0, -1);
    let current = root;
    for (const [index, part] of parts.entries()) {
      current = join(current, part);
      if (await makeDirectory(current)) madeDirectories.add(parts.slice(0, index + 1).join('/'));
    }
  }

  /** Returns true for an entry that the caller's rules leave out, or that belongs to version control. */
  function isLeftOut(path: string, type: LocalEntry['type']): boolean {
    const parts = path.split('/');
    const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
    if (above.some((directory) => options.excludes(directory, 'directory')) || options.excludes(path, type))
      return true;
    const at = options.vcs ? -1 : parts.findIndex(isVersionControl);
    if (at === -1) return false;
    const top = parts.slice(0, at + 1).join('/');
    if (!told.has(top)) options.onSkipped?.(top, 'it belongs to version control');
    told.add(top);
    return true;
  }

  /** Why a file cannot have its name beside those that were written: on some file systems another one has it. */
  async function twinProblem(path: string): Promise<string | undefined> {
    const twin = firstNames.get(folded(path));
    if (twin === undefined || twin === path) return undefined;
    foldsHere ??= await (options.foldsCase ?? foldsCase)(root);
    return foldsHere ? `${twin} has the same name on this machine` : undefined;
  }

  function wrote(path: string): void {
    written.add(path);
    if (!firstNames.has(folded(path))) firstNames.set(folded(path), path);
  }
}

/** A path as a file system compares it that ignores case. */
function folded(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** Makes a directory in the place of any other entry; false when it is there. */
async function makeDirectory(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory()) return false;
  if (found) await rm(path, { force: true });
  await mkdir(path);
  return true;
}

/** Removes a file or link that is in the way. A directory stays, and makes the write fail. */
async function makeRoom(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found && !found.isDirectory()) await rm(path, { force: true });
}

/** A name of the archive, relative to the root and without ways out of it. */
function safeName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const path = parts.join('/');
  const outside = resolve('/root-of-archive', path) !== `/root-of-archive${path === '' ? '' : `/${path}`}`;
  if (name.startsWith('/') || parts.includes('..') || outside || path.includes('\0')) {
    throw new Error(`The archive names a path outside the directory: ${JSON.stringify(name)}`);
  }
  return path;
}

function isPremature(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

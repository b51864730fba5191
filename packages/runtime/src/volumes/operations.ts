import { constants } from 'node:fs';
import { chmod, chown, type FileHandle, lstat, mkdir, open, opendir, rename, unlink } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { VolumeCreateOptions, VolumeEntry, VolumeOwnership } from '../contract/volumes.js';
import { runProgram } from '../shared/run-program.js';
import { shownPath, statEntry } from './entry.js';
import { volumeErrors } from './errors.js';
import { O_PATH, openDirectory, pathOf, walk } from './resolve-in-root.js';

const MAX_DEPTH = 10;
/** Entries in one listing. */
const MAX_LISTED = 100_000;

export function readEntry(root: string, path: string): Promise<VolumeEntry> {
  return walk(root, path, {}, ({ directory, name }) => statEntry(directory, name, shownPath(path)));
}

export function changeEntry(root: string, path: string, change: VolumeOwnership): Promise<VolumeEntry> {
  return walk(root, path, { followLast: true }, async ({ directory, name }) => {
    await own(directory, name, change);
    return statEntry(directory, name, shownPath(path));
  });
}

export function deleteEntry(root: string, path: string): Promise<void> {
  return walk(root, path, {}, async ({ directory, name }) => {
    if (name === undefined) throw volumeErrors.cannotDeleteRoot();
    if (!(await lstat(pathOf(directory, name))).isDirectory()) return unlink(pathOf(directory, name));
    // It begins in the open directory and continues by descriptors: an entry that is swapped for a link is not followed.
    const { exitCode, stderr } = await runProgram('rm', ['-rf', '--one-file-system', '--', `./${name}`], {
      cwd: pathOf(directory),
    });
    if (exitCode !== 0)
      throw new Error(`A directory could not be removed (exit status ${exitCode}): ${stderr.slice(-500)}`);
  });
}

/** Entries below a directory in lexical order, each directory before what is in it. */
export function listEntries(root: string, path: string, depth: number): Promise<VolumeEntry[]> {
  if (!Number.isInteger(depth) || depth < 0 || depth > MAX_DEPTH) throw volumeErrors.depthOutOfRange();
  return walk(root, path, { followLast: true }, async ({ directory, name }) => {
    const entries: VolumeEntry[] = [];
    const start = name === undefined ? await open(pathOf(directory)) : await openDirectory(directory, name);
    try {
      await listInto(entries, start, shownPath(path), Math.max(depth, 1));
    } finally {
      await start.close();
    }
    return entries;
  });
}

async function listInto(
  entries: VolumeEntry[],
  directory: FileHandle,
  shown: string,
  depth: number,
): Promise<void> {
  for (const name of await namesIn(directory, MAX_LISTED - entries.length)) {
    if (entries.length >= MAX_LISTED) throw volumeErrors.tooManyEntries(MAX_LISTED);
    const path = shown === '/' ? `/${name}` : `${shown}/${name}`;
    const entry = await statEntry(directory, name, path).catch(ignoreNameless);
    if (entry === undefined) continue;
    entries.push(entry);
    if (entry.type !== 'directory' || depth === 1) continue;
    const child = await openDirectory(directory, name).catch(ignoreNameless);
    if (child === undefined) continue;
    try {
      await listInto(entries, child, path, depth - 1);
    } finally {
      await child.close();
    }
  }
}

/** Names in lexical order. A program may have made more of them than there is memory for. */
async function namesIn(directory: FileHandle, max: number): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(pathOf(directory), { bufferSize: 1_024 })) {
    if (names.length >= max) throw volumeErrors.tooManyEntries(MAX_LISTED);
    names.push(name);
  }
  return names.sort();
}

export function createDirectory(
  root: string,
  path: string,
  options: VolumeCreateOptions,
): Promise<VolumeEntry> {
  return walk(root, path, { followLast: true, ...parents(options) }, async ({ directory, name }) => {
    if (name === undefined) {
      if (options.force !== true) throw volumeErrors.pathExists(shownPath(path));
      return statEntry(directory, undefined, '/');
    }
    try {
      await makeDirectory(directory, name, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || options.force !== true) throw error;
      if (!(await lstat(pathOf(directory, name))).isDirectory())
        throw volumeErrors.notADirectory(shownPath(path));
    }
    return statEntry(directory, name, shownPath(path));
  });
}

/** Opens a file for reading. A file that grows meanwhile is cut at the size that it has now. */
export function openFile(root: string, path: string): Promise<{ sizeBytes: number; content: Readable }> {
  return walk(root, path, { followLast: true }, async ({ directory, name }) => {
    if (name === undefined) throw volumeErrors.isADirectory('/');
    // Without O_NONBLOCK, a fifo that a sandbox put here would hold the request for ever.
    const handle = await open(
      pathOf(directory, name),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      const stat = await handle.stat();
      if (stat.isDirectory()) throw volumeErrors.isADirectory(shownPath(path));
      if (!stat.isFile()) throw volumeErrors.invalidRequest(`${shownPath(path)} is not a regular file`);
      return { sizeBytes: stat.size, content: await contentOf(handle, stat.size) };
    } catch (error) {
      await handle.close();
      throw error;
    }
  });
}

/** The bytes that are read at once, and in one message where another process reads: a larger one is copied more often on its way. */
const PIECE_BYTES = 256 * 1024;

async function contentOf(handle: FileHandle, sizeBytes: number): Promise<Readable> {
  if (sizeBytes > 0) return handle.createReadStream({ end: sizeBytes - 1, highWaterMark: PIECE_BYTES });
  await handle.close();
  return Readable.from([]);
}

/** Writes beside the file and renames, so that a broken upload changes nothing. */
export function writeFile(
  root: string,
  path: string,
  body: Readable,
  options: VolumeCreateOptions & { unique: string },
): Promise<VolumeEntry> {
  return walk(root, path, { followLast: true, ...parents(options) }, async ({ directory, name }) => {
    if (name === undefined) throw volumeErrors.isADirectory('/');
    const existing = await lstat(pathOf(directory, name)).catch(ignoreVanished);
    if (existing?.isDirectory()) throw volumeErrors.isADirectory(shownPath(path));
    if (existing !== undefined && options.force !== true) throw volumeErrors.pathExists(shownPath(path));
    const draft = `.svc-upload-${options.unique}`;
    const handle = await open(
      pathOf(directory, draft),
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    );
    try {
      await pipeline(body, handle.createWriteStream({ highWaterMark: PIECE_BYTES }));
      await own(directory, draft, { mode: 0o644, ...defined(options) });
      await rename(pathOf(directory, draft), pathOf(directory, name));
    } catch (error) {
      await unlink(pathOf(directory, draft)).catch(() => {});
      throw error;
    }
    return statEntry(directory, name, shownPath(path));
  });
}

function parents(options: VolumeCreateOptions) {
  if (options.force !== true) return {};
  return {
    onMissing: (directory: FileHandle, name: string) =>
      makeDirectory(directory, name, { uid: options.uid, gid: options.gid }).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
        },
      ),
  };
}

async function makeDirectory(directory: FileHandle, name: string, options: VolumeOwnership): Promise<void> {
  await mkdir(pathOf(directory, name));
  await own(directory, name, { mode: 0o755, ...defined(options) });
}

async function own(directory: FileHandle, name: string | undefined, change: VolumeOwnership): Promise<void> {
  // Held open, the entry cannot be exchanged for a link between the look and the change.
  const entry = await open(pathOf(directory, name), O_PATH | constants.O_NOFOLLOW);
  try {
    const stat = await entry.stat();
    const held = `/proc/self/fd/${entry.fd}`;
    const uid = change.uid ?? stat.uid;
    const gid = change.gid ?? stat.gid;
    if (uid !== stat.uid || gid !== stat.gid) await chown(held, uid, gid);
    // A change of owner clears set-id bits, so the mode comes last. A link has none of its own.
    if (change.mode !== undefined && !stat.isSymbolicLink()) await chmod(held, change.mode);
  } finally {
    await entry.close();
  }
}

/** A name that is no text names nothing when it is read as one, or is too long: no path leads there. */
function ignoreNameless(error: NodeJS.ErrnoException): undefined {
  return error.code === 'ENAMETOOLONG' ? undefined : ignoreVanished(error);
}

function ignoreVanished(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}

function defined(options: VolumeOwnership): VolumeOwnership {
  return Object.fromEntries(
    (['uid', 'gid', 'mode'] as const).flatMap((key) =>
      options[key] === undefined ? [] : [[key, options[key]]],
    ),
  );
}

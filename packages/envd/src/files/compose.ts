import { randomBytes } from 'node:crypto';
import { constants as fsConstants } from 'node:fs';
import { copyFile, open, rename, rm, unlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { followLinks, type LinkOwners, statThroughLinks } from '../filesystem/links.js';
import { makeDirectories, type Owner } from '../filesystem/make-directories.js';
import { errnoName } from '../filesystem/rpc-errors.js';
import { HttpFailure, toHttpFailure } from './http-failure.js';

const CHUNK = 1024 * 1024;

export interface ComposeOptions {
  /** Absolute; in the order of their content. */
  sources: readonly string[];
  destination: string;
  owner: Owner;
  linkOwners: LinkOwners;
}

/**
 * Joins files into one, which takes the destination's place at once, and deletes them. Until then nothing is changed.
 *
 * @throws HttpFailure 400, 404, 507.
 */
export async function composeFiles(options: ComposeOptions): Promise<void> {
  const { sources, destination, owner, linkOwners } = options;
  const mode = await checkFiles(sources, destination);
  const directory = posix.dirname(destination);
  await makeDirectories(directory, owner);
  const temporary = posix.join(directory, `.compose-${randomBytes(8).toString('hex')}`);
  try {
    // The first copy shares the blocks where the file system can.
    const how = fsConstants.COPYFILE_EXCL | fsConstants.COPYFILE_FICLONE;
    await followLinks(sources[0]!, linkOwners, (at) => copyFile(at, temporary, how));
    const handle = await open(temporary, fsConstants.O_WRONLY | fsConstants.O_APPEND);
    try {
      await handle.chmod(mode);
      if (owner) await handle.chown(owner.uid, owner.gid);
      for (const source of sources.slice(1)) await append(source, linkOwners, handle);
    } finally {
      await handle.close();
    }
    await rename(temporary, destination);
  } catch (error) {
    await rm(temporary, { force: true });
    throw toHttpFailure(error, destination);
  }
  for (const source of sources) {
    await unlink(source).catch((error) => {
      if (errnoName(error) !== 'ENOENT') throw toHttpFailure(error, source);
    });
  }
}

async function append(
  source: string,
  linkOwners: LinkOwners,
  target: Awaited<ReturnType<typeof open>>,
): Promise<void> {
  const from = await followLinks(source, linkOwners, (at) => open(at, 'r'));
  try {
    for await (const chunk of from.createReadStream({ highWaterMark: CHUNK }))
      await target.appendFile(chunk as Buffer);
  } finally {
    await from.close();
  }
}

/** Checks every file before the first change; answers the mode that the new file gets. */
async function checkFiles(sources: readonly string[], destination: string): Promise<number> {
  if (sources.length === 0) throw new HttpFailure(400, 'source_paths is empty');
  const seen = new Set<string>();
  const refuseTwice = (path: string, key: string): void => {
    if (seen.has(key)) throw new HttpFailure(400, `${path}: named more than once`);
    seen.add(key);
  };
  for (const source of sources) {
    const stats = await statThroughLinks(source).catch((error) => {
      throw toHttpFailure(error, source);
    });
    if (!stats.isFile()) throw new HttpFailure(400, `${source}: is not a regular file`);
    refuseTwice(source, `${stats.dev}:${stats.ino}`);
  }
  try {
    const existing = await statThroughLinks(destination);
    if (!existing.isFile()) throw new HttpFailure(400, `${destination}: is not a regular file`);
    refuseTwice(destination, `${existing.dev}:${existing.ino}`);
    return existing.mode & 0o777;
  } catch (error) {
    if (errnoName(error) === 'ENOENT') return 0o644;
    throw toHttpFailure(error, destination);
  }
}

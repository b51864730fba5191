import { constants as fsConstants } from 'node:fs';
import { type FileHandle, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { LinkOwners } from '../filesystem/links.js';
import { makeDirectories, type Owner } from '../filesystem/make-directories.js';
import { openMetadata } from '../filesystem/metadata.js';
import { openOrCreate } from '../filesystem/open-or-create.js';
import { HttpFailure } from './http-failure.js';

const { O_WRONLY, O_NONBLOCK } = fsConstants;

/** Bytes that may wait for the disk. */
const PENDING = 1024 * 1024;

export interface WriteOptions {
  /** Absolute. Links are followed. */
  path: string;
  owner: Owner;
  linkOwners: LinkOwners;
  metadata: Readonly<Record<string, string>>;
  content: AsyncIterable<Buffer>;
}

/**
 * Writes a file in place: parents are made, old content and metadata go, the mode of an existing file stays. When it
 * fails midway, the file holds what came until then.
 *
 * @throws HttpFailure, the system's error, or the content's own.
 */
export async function writeFile(options: WriteOptions): Promise<void> {
  const { path, owner, metadata, content } = options;
  await makeDirectories(posix.dirname(path), owner);
  const handle = await openForWriting(options);
  try {
    await handle.truncate(0);
    if (owner) await handle.chown(owner.uid, owner.gid);
    await pipeline(content, handle.createWriteStream({ highWaterMark: PENDING }));
    // Attributes are written without following links.
    (await openMetadata()).replace(await realpath(path), metadata);
  } finally {
    await handle.close();
  }
}

async function openForWriting(options: WriteOptions): Promise<FileHandle> {
  const { path, owner, linkOwners } = options;
  // Truncated only once it is known to be a file; O_NONBLOCK, or a fifo would wait for its reader.
  const flags = O_WRONLY | O_NONBLOCK;
  const handle = await openOrCreate({ path, flags, mode: 0o666, owner, linkOwners });
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new HttpFailure(400, `${path}: is not a regular file`);
}

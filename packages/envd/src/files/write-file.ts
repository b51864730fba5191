import { constants as fsConstants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeDirectories, type Owner } from '../filesystem/make-directories.js';
import { openMetadata } from '../filesystem/metadata.js';
import { HttpFailure } from './http-failure.js';

const { O_WRONLY, O_CREAT, O_NONBLOCK } = fsConstants;

/** Bytes that may wait for the disk. */
const PENDING = 1024 * 1024;

export interface WriteOptions {
  /** Absolute. Links are followed. */
  path: string;
  owner: Owner;
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
  const handle = await openForWriting(path);
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

async function openForWriting(path: string): Promise<FileHandle> {
  // Truncated only once it is known to be a file; O_NONBLOCK, or a fifo would wait for its reader.
  const handle = await open(path, O_WRONLY | O_CREAT | O_NONBLOCK, 0o666);
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new HttpFailure(400, `${path}: is not a regular file`);
}

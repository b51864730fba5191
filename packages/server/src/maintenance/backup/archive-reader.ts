import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { SUMS } from './archive-writer.js';
import { BackupError } from './backup-error.js';
import { BLOCK_BYTES, type Member, paddingAfter, parseHeader } from './member.js';

/** Largest member that is read as a whole. */
const TEXT_BYTES = 16 * 2 ** 20;
const MAX_MEMBERS = 1_000_000;

interface Placed extends Member {
  start: number;
}

/** A backup that was looked through: whole, and every member known to be what was written. */
export interface BackupArchive {
  /** In the order of the archive, without the list of checksums. */
  readonly names: readonly string[];
  /** A member of at most 16 MiB. */
  text(name: string): Promise<string>;
  /** A member as it was checked; the stream fails when the file was changed since. */
  read(name: string): Readable;
  close(): Promise<void>;
}

/**
 * Opens a backup and reads it to its end, before anything is done with it.
 * @param onProgress receives the number of bytes that were read
 * @throws {BackupError} for a file that is no backup, is not whole, or was changed
 */
export async function openArchive(
  path: string,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (done: number, of: number) => void } = {},
): Promise<BackupArchive> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(`The backup cannot be read: ${error.message}.`, { cause: error });
  });
  try {
    const { size } = await file.stat();
    const members = await readMembers(file, size, path);
    const last = members.pop();
    if (last?.name !== SUMS || last.sizeBytes > TEXT_BYTES)
      throw broken(path, 'its list of checksums is missing');
    const sums = parseSums(await readText(file, last), path);
    if (sums.size !== members.length) throw broken(path, 'its list of checksums is of another archive');
    const placed = new Map(members.map((member) => [member.name, member]));
    if (placed.size !== members.length) throw broken(path, 'it has two members of one name');
    let done = 0;
    for (const member of members) {
      const expected = sums.get(member.name);
      if (expected === undefined) throw broken(path, `${member.name} has no checksum`);
      for await (const chunk of readMember(file, path, member, expected)) {
        signal?.throwIfAborted();
        done += chunk.length;
        onProgress?.(done, size);
      }
    }
    return {
      names: members.map(({ name }) => name),
      text: (name) => readText(file, placed.get(name)!),
      read: (name) =>
        Readable.from(readMember(file, path, placed.get(name)!, sums.get(name)!), { objectMode: false }),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function readMembers(file: FileHandle, size: number, path: string): Promise<Placed[]> {
  const members: Placed[] = [];
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, at);
    if (bytesRead < BLOCK_BYTES) throw broken(path, at === 0 ? 'it is no backup' : 'its end is missing');
    if (block.every((byte) => byte === 0)) {
      if (members.length === 0) throw broken(path, 'it is no backup');
      if (at + 2 * BLOCK_BYTES !== size) throw broken(path, 'it does not end where a backup does');
      return members;
    }
    const member = parseHeader(block);
    if (member === undefined || members.length === MAX_MEMBERS)
      throw broken(path, at === 0 ? 'it is no backup' : 'it has an entry that no backup has');
    const start = at + BLOCK_BYTES;
    at = start + member.sizeBytes + paddingAfter(member.sizeBytes);
    if (at > size) throw broken(path, `its end is missing: ${member.name} is cut off`);
    members.push({ ...member, start });
  }
}

function parseSums(text: string, path: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, sum, name] = /^([0-9a-f]{64}) {2}([ -~]{1,100})$/.exec(line) ?? [];
    if (sum === undefined || name === undefined || sums.has(name))
      throw broken(path, 'its list of checksums cannot be read');
    sums.set(name, sum);
  }
  return sums;
}

async function readText(file: FileHandle, { start, sizeBytes, name }: Placed): Promise<string> {
  if (sizeBytes > TEXT_BYTES) throw new BackupError(`The backup is refused: ${name} is too large.`);
  const content = Buffer.alloc(sizeBytes);
  await file.read(content, 0, sizeBytes, start);
  return content.toString('utf8');
}

/** Bytes that are read at once. */
const PIECE_BYTES = 1_048_576;

/** The bytes of a member; fails at its end when they are not those of the checksum. */
async function* readMember(
  file: FileHandle,
  path: string,
  { start, sizeBytes, name }: Placed,
  expected: string,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let at = 0;
  while (at < sizeBytes) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, sizeBytes - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, start + at);
    if (bytesRead === 0) break;
    const chunk = piece.subarray(0, bytesRead);
    hash.update(chunk);
    at += bytesRead;
    yield chunk;
  }
  if (at !== sizeBytes || hash.digest('hex') !== expected)
    throw broken(path, `${name} is not what was stored: its checksum is another`);
}

function broken(path: string, why: string): BackupError {
  return new BackupError(`The backup ${path} is refused: ${why}.`, {
    hint: 'Nothing was changed. Take another copy of it, or another backup.',
  });
}

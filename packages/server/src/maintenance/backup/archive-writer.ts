import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { BackupError } from './backup-error.js';
import { BLOCK_BYTES, formatHeader, paddingAfter } from './member.js';

export const SUMS = 'SHA256SUMS';

/**
 * Writes a backup. It stands under its own name only when it is whole: until then its name ends with `.part`. Only its owner
 * may read it.
 */
export class ArchiveWriter {
  readonly #path: string;
  readonly #draft: string;
  readonly #file: FileHandle;
  readonly #mtimeMs: number;
  #at = 0;
  #sums = '';

  private constructor(path: string, draft: string, file: FileHandle, mtimeMs: number) {
    this.#path = path;
    this.#draft = draft;
    this.#file = file;
    this.#mtimeMs = mtimeMs;
  }

  /** @throws {BackupError} when there is such a file, or none can be made */
  static async create(path: string, nowMs: number): Promise<ArchiveWriter> {
    const draft = `${path}.${randomBytes(5).toString('hex')}.part`;
    const file = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw new BackupError(`The backup cannot be written to ${path}: ${error.message}.`, {
        hint: 'Name a file in a directory that is there and may be written.',
        cause: error,
      });
    });
    return new ArchiveWriter(resolve(path), resolve(draft), file, nowMs);
  }

  /** Bytes written so far. */
  get sizeBytes(): number {
    return this.#at;
  }

  /** Adds a member whose size shows when its content ends. */
  async add(name: string, content: Readable | Buffer): Promise<void> {
    const start = this.#at;
    const hash = createHash('sha256');
    this.#at += BLOCK_BYTES;
    for await (const chunk of Buffer.isBuffer(content) ? [content] : (content as AsyncIterable<Buffer>)) {
      hash.update(chunk);
      await this.#write(chunk);
    }
    const sizeBytes = this.#at - start - BLOCK_BYTES;
    await this.#write(Buffer.alloc(paddingAfter(sizeBytes)));
    const header = formatHeader({ name, sizeBytes }, this.#mtimeMs);
    await this.#file.write(header, 0, BLOCK_BYTES, start);
    this.#sums += `${hash.digest('hex')}  ${name}\n`;
  }

  /** Ends the archive and gives it its name. @throws {BackupError} when another has that name by now */
  async finish(): Promise<void> {
    await this.add(SUMS, Buffer.from(this.#sums));
    await this.#write(Buffer.alloc(2 * BLOCK_BYTES));
    await this.#file.sync();
    await link(this.#draft, this.#path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? fileExists(this.#path) : error;
    });
    await syncDirectory(dirname(this.#path));
  }

  /** Closes the file, and removes what has not got its name. Repeating it is fine. */
  async close(): Promise<void> {
    await this.#file.close();
    await rm(this.#draft, { force: true });
  }

  async #write(chunk: Buffer): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.#file.write(chunk, done, chunk.length - done, this.#at);
      done += bytesWritten;
      this.#at += bytesWritten;
    }
  }
}

export function fileExists(path: string): BackupError {
  return new BackupError(`${path} exists already.`, {
    hint: 'Name another file: a backup never takes the place of an earlier one.',
  });
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path);
  await directory.sync().finally(() => directory.close());
}

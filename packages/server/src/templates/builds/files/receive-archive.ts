import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline as flow } from 'node:stream/promises';
import { ArchiveError, type ArchiveLimits } from '@svc/runtime/contract';
import { ApiError } from '../../../api/errors/api-error.js';
import { errors } from '../../../api/errors/catalog.js';
import { ArchiveRules } from './archive-rules.js';
import { readTar, unzipped } from './tar.js';

export interface ReceiveOptions {
  body: Readable;
  /** Its final path. */
  target: string;
  /** A unique temporary path on the same file system. */
  draft: string;
  /** Most bytes, as they arrive. */
  limitBytes: number;
  /** The limits of its content. */
  archives: ArchiveLimits;
  /** The digest that it must have. Default: any. */
  digest?: string | undefined;
  signal: AbortSignal;
}

export interface ReceivedArchive {
  sizeBytes: number;
  /** SHA-256 in hexadecimal digits. */
  digest: string;
}

/**
 * Stores a gzip-compressed tar archive once every entry of it was checked: it appears under its name whole or not at
 * all. A body that is too large is left unread, not destroyed, so that the answer reaches its sender.
 * @throws {ApiError} 400 when it is no such archive, leads out of itself or has another digest; 413
 */
export async function receiveArchive(options: ReceiveOptions): Promise<ReceivedArchive> {
  const { body, draft, target, limitBytes, archives, signal } = options;
  await mkdir(path.dirname(draft), { recursive: true, mode: 0o700 });
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  const counted = { bytes: 0, hash: createHash('sha256') };
  try {
    await flow(limited(body, limitBytes, counted), createWriteStream(draft, { mode: 0o600 }), { signal });
    const digest = counted.hash.digest('hex');
    if (options.digest !== undefined && digest !== options.digest)
      throw errors.archiveRefused('it is not the one that was uploaded');
    await checkArchive(draft, archives, signal);
    await rename(draft, target);
    return { sizeBytes: counted.bytes, digest };
  } finally {
    await rm(draft, { force: true });
  }
}

async function* limited(
  body: Readable,
  limitBytes: number,
  counted: { bytes: number; hash: Hash },
): AsyncGenerator<Buffer> {
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    counted.bytes += chunk.length;
    counted.hash.update(chunk);
    if (counted.bytes > limitBytes) throw errors.bodyTooLarge(limitBytes);
    yield chunk;
  }
}

/** @throws {ApiError} 400 */
async function checkArchive(file: string, limits: ArchiveLimits, signal: AbortSignal): Promise<void> {
  const rules = new ArchiveRules();
  try {
    for await (const entry of readTar(unzipped(file, limits), { limits, special: 'refuse' })) {
      signal.throwIfAborted();
      const refusal = rules.refuse(entry.header);
      if (refusal !== undefined) throw errors.archiveRefused(refusal);
      entry.skip();
    }
  } catch (error) {
    if (ApiError.is(error) || signal.aborted || (error as { code?: unknown }).code === 'EIO') throw error;
    if (ArchiveError.is(error)) throw errors.archiveRefused(error.message);
    throw errors.archiveRefused('it is not a whole gzip-compressed tar archive');
  }
}

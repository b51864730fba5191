import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { ApiError } from '../../errors/api-error.js';
import { errors } from '../../errors/catalog.js';
import { ArchiveRules } from './archive-rules.js';

/** How many times larger than the upload limit an archive may become: more is an attack. */
const MAX_EXPANSION = 8;
const MAX_ENTRIES = 1_000_000;

export interface ReceiveOptions {
  body: Readable;
  /** Where it shall stand in the end. */
  target: string;
  /** A name of its own on the same file system. */
  draft: string;
  /** Most bytes, as they arrive. */
  limitBytes: number;
  signal: AbortSignal;
}

/**
 * Stores a gzip-compressed tar archive, checking every entry as it arrives. It appears under its name whole or not at all.
 * @returns its size in bytes
 * @throws {ApiError} 400 when it is no such archive or leads out of itself; 413
 */
export async function receiveArchive(options: ReceiveOptions): Promise<number> {
  const { body, draft, target, limitBytes, signal } = options;
  await mkdir(path.dirname(draft), { recursive: true, mode: 0o700 });
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  const rules = archiveChecker(limitBytes * MAX_EXPANSION);
  let size = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > limitBytes) done(errors.bodyTooLarge(limitBytes));
      else if (rules.write(chunk)) done(null, chunk);
      else rules.ready().then(() => done(null, chunk), done);
    },
    flush(done) {
      rules.end().then(() => done(), done);
    },
  });
  try {
    await pipeline(body, count, createWriteStream(draft, { mode: 0o600 }), { signal });
    await rename(draft, target);
    return size;
  } catch (error) {
    rules.destroy();
    await rm(draft, { force: true });
    throw ApiError.is(error) || signal.aborted ? error : refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  const code = (error as { code?: unknown }).code;
  // Trouble of ours, not of the archive.
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO' || code === 'EACCES') return error;
  if (code === 'ERR_STREAM_PREMATURE_CLOSE') return errors.archiveRefused('it ended early');
  return errors.archiveRefused('it is not a gzip-compressed tar archive');
}

/** A second reader beside the file: unpacks and judges, keeps nothing. */
function archiveChecker(maxBytes: number) {
  const gunzip = createGunzip();
  const rules = new ArchiveRules();
  const entries = extract();
  let bytes = 0;
  let seen = 0;
  entries.on('entry', (header, stream, next) => {
    const refusal = rules.refuse(header) ?? (++seen > MAX_ENTRIES ? 'it has too many entries' : undefined);
    if (refusal !== undefined) return next(errors.archiveRefused(refusal));
    stream.on('end', () => next());
    stream.resume();
  });
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(errors.archiveRefused('it becomes too large when it is unpacked'));
      else done(null, chunk);
    },
  });
  // tar-stream's own streams are not Node's: it is fed by hand, one chunk after another.
  const feed = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (entries.write(chunk)) done();
      else entries.once('drain', () => done());
    },
    final(done) {
      entries.once('finish', () => done());
      entries.end(undefined);
    },
  });
  entries.on('error', (error: Error) => feed.destroy(error));
  const finished = pipeline(gunzip, limit, feed);
  finished.catch(() => {});
  return {
    write: (chunk: Buffer) => gunzip.write(chunk),
    /** Settles when more can be written. */
    ready: () =>
      Promise.race([new Promise<void>((resolve) => gunzip.once('drain', resolve)), finished.then(() => {})]),
    end: async () => {
      gunzip.end();
      await finished;
      if (bytes === 0) throw errors.archiveRefused('it is empty');
    },
    destroy: () => {
      gunzip.destroy();
      feed.destroy();
    },
  };
}

import type { IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { LinkOwners } from '../filesystem/links.js';
import type { Owner } from '../filesystem/make-directories.js';
import { HttpFailure, toHttpFailure } from './http-failure.js';
import { parseMetadataHeaders } from './metadata-headers.js';
import { parseBoundary, readParts } from './multipart.js';
import { writeFile } from './write-file.js';

/** @wire WrittenFile */
export interface WrittenFile {
  path: string;
  name: string;
  type: 'file';
  metadata?: Record<string, string>;
}

export interface UploadOptions {
  request: IncomingMessage;
  /** `path` of the query; undefined when absent or empty. */
  path: string | undefined;
  resolve(path: string): string;
  owner: Owner;
  linkOwners: LinkOwners;
}

/**
 * Writes the files of a request, in its order.
 *
 * @throws HttpFailure. The request may not have been read to its end then.
 */
export async function receiveUpload(options: UploadOptions): Promise<WrittenFile[]> {
  const { request, path, resolve, owner, linkOwners } = options;
  const metadata = parseMetadataHeaders(request.headers);
  const contentType = request.headers['content-type'] ?? '';
  const mediaType = contentType.split(';', 1)[0]!.trim().toLowerCase();
  const boundary = parseBoundary(contentType);
  if (mediaType !== 'application/octet-stream' && mediaType !== 'multipart/form-data') {
    throw new HttpFailure(400, `content type ${JSON.stringify(mediaType)} is not supported`);
  }
  const written: WrittenFile[] = [];
  const write = async (target: string, content: AsyncIterable<Buffer>): Promise<void> => {
    try {
      await writeFile({ path: target, owner, linkOwners, metadata, content });
    } catch (error) {
      throw toHttpFailure(error, target);
    }
    const described = Object.keys(metadata).length > 0 ? { metadata } : {};
    written.push({ path: target, name: posix.basename(target), type: 'file', ...described });
  };

  if (mediaType === 'application/octet-stream') {
    if (path === undefined) throw new HttpFailure(400, 'path is required');
    await write(resolve(path), decodedBody(request));
    return written;
  }
  if (boundary === undefined) throw new HttpFailure(400, 'multipart body without a boundary');
  const targets = new Set<string>();
  for await (const part of readParts(decodedBody(request)[Symbol.asyncIterator](), boundary)) {
    if (part.name !== 'file') continue;
    const wanted = path ?? part.filename;
    if (!wanted) throw new HttpFailure(400, 'a file part needs a file name, or the request a path');
    const target = resolve(wanted);
    const key = posix.normalize(target);
    if (targets.has(key)) throw new HttpFailure(400, `${target}: more than one part is for it`);
    targets.add(key);
    await write(target, part.content);
  }
  return written;
}

/** The body without its encoding. Leaving it early does not close the connection: the answer still has to go out. */
function decodedBody(request: IncomingMessage): AsyncIterable<Buffer> {
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const raw = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  if (encoding === '' || encoding === 'identity') return raw;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new HttpFailure(400, `content encoding ${JSON.stringify(encoding)} is not supported`);
  }
  return gunzip(raw);
}

/** Starts with the first read, so that no failure comes while nobody listens. */
async function* gunzip(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = createGunzip({ chunkSize: 256 * 1024 });
  // Each failure reaches the loop below; the event must have a listener even after it.
  decoder.on('error', () => {});
  pipeline(Readable.from(packed, { objectMode: false }), decoder).catch(() => {});
  yield* decoder as AsyncIterable<Buffer>;
}

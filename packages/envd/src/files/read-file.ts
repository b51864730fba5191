import { constants as fsConstants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { posix } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { followLinks, type LinkOwners } from '../filesystem/links.js';
import { chooseForm } from './accept-encoding.js';
import { type ByteRange, parseRange } from './byte-range.js';
import { evaluateConditions, isConditional, rangeApplies, type Validators } from './conditions.js';
import { inlineDisposition } from './content-disposition.js';
import { HttpFailure } from './http-failure.js';

/** Bytes read at a time. */
const CHUNK = 512 * 1024;

interface OpenFile {
  handle: FileHandle;
  size: number;
  validators: Validators;
}

/**
 * Answers with the content of a file, following links.
 *
 * @throws HttpFailure or the system's error, as long as nothing was sent.
 */
export async function sendFile(
  path: string,
  linkOwners: LinkOwners,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const file = await openRegular(path, linkOwners);
  try {
    await send(path, file, request, response);
  } finally {
    await file.handle.close();
  }
}

async function openRegular(path: string, linkOwners: LinkOwners): Promise<OpenFile> {
  // Without O_NONBLOCK a fifo would hold the call until somebody writes into it.
  const flags = fsConstants.O_RDONLY | fsConstants.O_NONBLOCK;
  const handle = await followLinks(path, linkOwners, (at) => open(at, flags));
  try {
    const stats = await handle.stat({ bigint: true });
    if (stats.isDirectory()) throw new HttpFailure(400, `${path}: is a directory`);
    if (!stats.isFile()) throw new HttpFailure(400, `${path}: is not a regular file`);
    const etag = `"${[stats.ino, stats.size, stats.mtimeNs].map((part) => part.toString(36)).join('-')}"`;
    return {
      handle,
      size: Number(stats.size),
      validators: { etag, modifiedMs: Number(stats.mtimeNs / 1_000_000n) },
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function send(
  path: string,
  { handle, size, validators }: OpenFile,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { headers } = request;
  const form = chooseForm(
    header(headers['accept-encoding']),
    headers.range !== undefined || isConditional(headers),
  );
  if (form === undefined) throw new HttpFailure(406, 'no acceptable encoding; there are gzip and identity');
  const common = {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': inlineDisposition(posix.basename(path)),
    'Last-Modified': new Date(validators.modifiedMs).toUTCString(),
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  };
  if (form === 'gzip') {
    response.writeHead(200, { ...common, 'Content-Encoding': 'gzip' });
    if (request.method === 'HEAD') response.end();
    // The fastest level: this is for the wire's sake, not for an archive's.
    else
      await pipeline(handle.createReadStream({ highWaterMark: CHUNK }), createGzip({ level: 1 }), response);
    return;
  }
  const plain = { ...common, ETag: validators.etag, 'Accept-Ranges': 'bytes' };
  const verdict = evaluateConditions(headers, validators);
  if (verdict === 304) {
    const { 'Content-Type': _, 'Content-Disposition': __, ...rest } = plain;
    response.writeHead(304, rest).end();
    return;
  }
  if (verdict === 412) throw new HttpFailure(412, `${path}: precondition failed`);
  const range = parseRange(rangeApplies(headers, validators) ? headers.range : undefined, size);
  if (range === 'bad') {
    throw new HttpFailure(416, `${path}: has no such range`, { 'Content-Range': `bytes */${size}` });
  }
  if (range === 'whole' && size === 0 && request.method !== 'HEAD') {
    // Files that the kernel makes up say that they are empty; only reading tells.
    response.writeHead(200, plain);
    await pipeline(handle.createReadStream(), response);
    return;
  }
  await sendBytes(handle, range === 'whole' ? { first: 0, last: size - 1 } : range, request, response, {
    ...plain,
    ...(range === 'whole' ? {} : { 'Content-Range': `bytes ${range.first}-${range.last}/${size}` }),
  });
}

async function sendBytes(
  handle: FileHandle,
  { first, last }: ByteRange,
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string>,
): Promise<void> {
  const length = last - first + 1;
  response.writeHead('Content-Range' in headers ? 206 : 200, { ...headers, 'Content-Length': length });
  if (request.method === 'HEAD' || length === 0) {
    response.end();
    return;
  }
  const source = handle.createReadStream({ start: first, end: last, highWaterMark: CHUNK });
  await pipeline(source, refuseShort(length), response);
}

/** A file that was cut while it was sent must break the answer off: it would end as if nothing were missing. */
function refuseShort(length: number): Transform {
  let sent = 0;
  return new Transform({
    highWaterMark: CHUNK,
    transform(chunk: Buffer, _encoding, done) {
      sent += chunk.length;
      done(null, chunk);
    },
    flush(done) {
      done(sent === length ? null : new Error('the file became shorter while it was sent'));
    },
  });
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

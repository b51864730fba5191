import { throwUnlessOk } from '../calls/read-answer.js';
import { readText } from '../calls/read-text.js';
import type { RequestOptions } from '../core/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { ServerError } from '../errors/answer-errors.js';
import { type FileContent, normalizeContent, type SteadyContent } from './content.js';
import type { WrittenFile } from './entry.js';
import { fromWritten, metadataHeaders } from './wire.js';

/** Options for writing files. */
export interface WriteOptions extends RequestOptions {
  /** User to whom the file will belong, and in whose home relative paths start. Default: the sandbox's default user. */
  user?: string | undefined;
  /**
   * Metadata stored with the file. It replaces what was stored; without it the stored metadata is removed. Keys of up to 246 header
   * characters, stored in lower case; values of printable ASCII; 4096 bytes together.
   */
  metadata?: Record<string, string> | undefined;
}

/** One file of `files.writeMany`. */
export interface FileToWrite {
  path: string;
  data: FileContent;
  metadata?: Record<string, string> | undefined;
}

/** Most files in one request. */
const batchSize = 200;
/** Most content that is sent a second time when the connection breaks, bytes. */
const largestRepeated = 8 * 1024 * 1024;

export async function writeFile(
  connection: DaemonConnection,
  path: string,
  data: FileContent,
  options: WriteOptions,
): Promise<WrittenFile> {
  let sent = 0;
  const content = normalizeContent(data, (bytes) => {
    sent += bytes;
  });
  const headers = { 'Content-Type': 'application/octet-stream', ...metadataHeaders(options.metadata) };
  const url = `/files?path=${encodeURIComponent(path)}`;
  if ('steady' in content) {
    // Content that may be sent again is kept as a copy while it is sent: too dear for much.
    const limits = sizeOf(content.steady) > largestRepeated ? { ...options, maxRetries: 0 } : options;
    const init = { headers, body: content.steady };
    const [written] = await post(connection, url, init, limits, true, () => bytesOf(content.steady));
    return requireOne(written);
  }
  // A stream can be sent once, and takes as long as its source does: no retries, no time limit unless one is given.
  const once = { ...options, maxRetries: 0, requestTimeoutMs: options.requestTimeoutMs ?? 0 };
  const init = { headers, body: content.flowing, duplex: 'half' } as RequestInit;
  const [written] = await post(connection, url, init, once, false, () => sent);
  return requireOne(written);
}

export async function writeFiles(
  connection: DaemonConnection,
  files: readonly FileToWrite[],
  options: RequestOptions & { user?: string | undefined },
): Promise<WrittenFile[]> {
  const written: WrittenFile[] = new Array(files.length);
  const batched: { index: number; path: string; content: SteadyContent }[] = [];
  for (const [index, { path, data, metadata }] of files.entries()) {
    const content = normalizeContent(data);
    if ('steady' in content && metadata === undefined && isPlainName(path)) {
      batched.push({ index, path, content: content.steady });
    } else {
      const flowing = 'flowing' in content ? content.flowing : content.steady;
      written[index] = await writeFile(connection, path, flowing, { ...options, metadata });
    }
  }
  // A target may be named once in a request: the order of writes to one path is kept by putting them in separate ones.
  for (const batch of splitBatches(batched)) {
    const form = new FormData();
    for (const { path, content } of batch) {
      form.append('file', content instanceof Blob ? content : new Blob([content]), path);
    }
    const size = () => batch.reduce((total, { content }) => total + bytesOf(content), 0);
    const answers = await post(connection, '/files', { body: form }, options, true, size);
    for (const [position, { index }] of batch.entries()) written[index] = requireOne(answers[position]);
  }
  return written;
}

/** Exactly, where `sizeOf` counts the characters of a text. */
function bytesOf(content: SteadyContent): number {
  return typeof content === 'string' ? new TextEncoder().encode(content).byteLength : sizeOf(content);
}

function sizeOf(content: SteadyContent): number {
  if (typeof content === 'string') return content.length;
  return content instanceof Blob ? content.size : content.byteLength;
}

function splitBatches<Item extends { path: string }>(items: readonly Item[]): Item[][] {
  const batches: Item[][] = [];
  let names = new Set<string>();
  for (const item of items) {
    const current = batches.at(-1);
    if (current && current.length < batchSize && !names.has(item.path)) current.push(item);
    else {
      batches.push([item]);
      names = new Set();
    }
    names.add(item.path);
  }
  return batches;
}

/** Returns true for a name that survives the quoting rules of multipart bodies, which differ from client to client. */
function isPlainName(path: string): boolean {
  return /^[\x20-\x7e]+$/.test(path) && !/["\\%]/.test(path);
}

async function post(
  connection: DaemonConnection,
  url: string,
  init: RequestInit,
  options: WriteOptions,
  repeatable: boolean,
  /** Bytes of content that were sent; asked for when they are written. */
  sentBytes: () => number,
): Promise<WrittenFile[]> {
  const operation = 'files.write';
  const context = {
    operation,
    resource: 'file',
    user: options.user,
    idempotent: repeatable,
    options,
  } as const;
  return connection.http(context, async (fetch, baseUrl, observer) => {
    // Node keeps a copy of all it sends in case of a redirect, unless there can be none and no window is to blame.
    const rules = { redirect: 'error', window: null } as const;
    const request = new Request(`${baseUrl}${url}`, { ...init, ...rules, method: 'POST' });
    const response = await fetch(request, rules);
    await throwUnlessOk(response, { operation, service: 'sandbox', resource: 'file' });
    observer?.tell({ type: 'transfer', direction: 'sent', bytes: sentBytes() });
    return fromWritten(JSON.parse(await readText(response, operation)));
  });
}

function requireOne(written: WrittenFile | undefined): WrittenFile {
  if (written) return written;
  throw new ServerError('files.write: the sandbox answered without saying what it wrote.', {
    operation: 'files.write',
  });
}

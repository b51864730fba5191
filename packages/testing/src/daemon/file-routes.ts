import { type components, signFilePath } from '@svc/daemon';
import { json } from '../answers/refusal.js';
import { FileFailure, type FileNode, type FileTree } from '../files/file-tree.js';
import { InvalidPathError, nameOf } from '../files/paths.js';
import type { DaemonScope } from './scope.js';
import { isUser, namedUser } from './users.js';

/** A failure of the daemon's HTTP routes. */
export class DaemonRefusal extends Error {
  override readonly name = 'DaemonRefusal';
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }

  toResponse(): Response {
    return json(this.status, { code: this.status, message: this.message }, this.headers);
  }
}

type WrittenFile = components['schemas']['WrittenFile'];

/** `GET /files`. @throws DaemonRefusal */
export async function readFile(request: Request, url: URL, scope: DaemonScope): Promise<Response> {
  await checkAccess(request, url, 'read', scope);
  const { files } = scope.sandbox;
  const { path } = targetOf(request, url, files);
  const node = guarded(() => files.open(path), 400);
  return fileAnswer(request, path, node);
}

/** `POST /files`. @throws DaemonRefusal */
export async function writeFiles(request: Request, url: URL, scope: DaemonScope): Promise<Response> {
  await checkAccess(request, url, 'write', scope);
  const { files } = scope.sandbox;
  const metadata = metadataOf(request.headers);
  const type = (request.headers.get('Content-Type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const path = url.searchParams.get('path') || undefined;
  const { resolve, user } = targetOf(request, url, files);
  const contents: { path: string; bytes: Uint8Array }[] = [];
  if (type === 'application/octet-stream') {
    if (path === undefined) throw new DaemonRefusal(400, 'path is required');
    contents.push({ path: resolve(path), bytes: await bodyOf(request) });
  } else if (type === 'multipart/form-data') {
    for (const { name, bytes } of await partsOf(request)) {
      const wanted = path ?? name;
      if (!wanted) throw new DaemonRefusal(400, 'a file part needs a file name, or the request a path');
      const target = resolve(wanted);
      if (contents.some((other) => other.path === target))
        throw new DaemonRefusal(400, `${target}: more than one part is for it`);
      contents.push({ path: target, bytes });
    }
  } else throw new DaemonRefusal(400, `content type ${JSON.stringify(type)} is not supported`);
  const written = contents.map(({ path: target, bytes }): WrittenFile => {
    guarded(() => files.put(target, bytes, metadata, user), 400);
    return {
      path: target,
      name: nameOf(target),
      type: 'file',
      ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    };
  });
  return json(200, written);
}

/** `POST /files/compose`. @throws DaemonRefusal */
export async function composeFiles(request: Request, scope: DaemonScope): Promise<Response> {
  const { files } = scope.sandbox;
  const body = await request.json().catch(() => undefined);
  const { source_paths: sources, destination, username } = (body ?? {}) as Record<string, unknown>;
  const isPath = (value: unknown): value is string => typeof value === 'string' && value !== '';
  if (!Array.isArray(sources) || !sources.every(isPath) || !isPath(destination))
    throw new DaemonRefusal(400, 'the body needs source_paths and destination');
  if (sources.length === 0) throw new DaemonRefusal(400, 'source_paths is empty');
  const { resolve, user } = placeOf(
    typeof username === 'string' ? username : namedUser(request.headers),
    files,
  );
  const from = sources.map(resolve);
  const to = resolve(destination);
  if (new Set([...from, to]).size <= from.length)
    throw new DaemonRefusal(400, 'a file is named more than once');
  const pieces = from.map((path) => guarded(() => files.open(path), 400).bytes);
  guarded(() => files.put(to, concat(pieces), {}, user), 400);
  for (const path of from) files.removeAll(path);
  return json(200, { path: to, name: nameOf(to), type: 'file' } satisfies WrittenFile);
}

/** The access token, or a signature in the query. @throws DaemonRefusal 401 */
async function checkAccess(
  request: Request,
  url: URL,
  operation: 'read' | 'write',
  { sandbox, clock }: DaemonScope,
): Promise<void> {
  const refused = (message: string) => new DaemonRefusal(401, message);
  const token = request.headers.get('X-Access-Token');
  if (token !== null) {
    if (token !== sandbox.accessToken) throw refused('the access token is wrong');
    return;
  }
  const query = url.searchParams;
  const signature = query.get('signature');
  if (signature === null) throw refused('the access token or a signature is missing');
  const expiration = query.get('signature_expiration');
  const wanted = await signFilePath({
    path: query.get('path') ?? '',
    operation,
    accessToken: sandbox.accessToken,
    user: query.get('username') ?? undefined,
    expiration: expiration === null ? undefined : Number(expiration),
  });
  if (signature !== wanted) throw refused('the signature is wrong');
  if (expiration !== null && !(Number(expiration) * 1000 >= clock.nowMs))
    throw refused('the signature has expired');
}

function targetOf(request: Request, url: URL, files: FileTree) {
  const place = placeOf(url.searchParams.get('username') || namedUser(request.headers), files);
  return { ...place, path: guarded(() => place.resolve(url.searchParams.get('path') ?? ''), 400) };
}

/** @throws DaemonRefusal 401 for a user that does not exist */
function placeOf(user: string | undefined, files: FileTree) {
  if (user !== undefined && !isUser(user))
    throw new DaemonRefusal(401, `unknown user ${JSON.stringify(user)}`);
  const home = user === 'root' ? '/root' : files.home;
  return { user, resolve: (path: string) => guarded(() => files.resolve(path, home), 400) };
}

function guarded<T>(run: () => T, status: number): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof InvalidPathError) throw new DaemonRefusal(400, error.message);
    if (!(error instanceof FileFailure)) throw error;
    throw new DaemonRefusal(error.code === 'ENOENT' ? 404 : status, error.message);
  }
}

function fileAnswer(request: Request, path: string, { bytes, modifiedMs }: FileNode): Response {
  const headers: Record<string, string> = {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': dispositionOf(nameOf(path)),
    'Last-Modified': new Date(modifiedMs).toUTCString(),
    Vary: 'Accept-Encoding',
    'Accept-Ranges': 'bytes',
  };
  const size = bytes.byteLength;
  const range = rangeOf(request.headers.get('Range'), size);
  if (range === 'bad')
    throw new DaemonRefusal(416, `${path}: has no such range`, { 'Content-Range': `bytes */${size}` });
  const [first, last] = range ?? [0, size - 1];
  if (range) headers['Content-Range'] = `bytes ${first}-${last}/${size}`;
  headers['Content-Length'] = String(last - first + 1);
  const body =
    request.method === 'HEAD' ? null : (bytes.subarray(first, last + 1) as Uint8Array<ArrayBuffer>);
  return new Response(body, { status: range ? 206 : 200, headers });
}

function rangeOf(header: string | null, size: number): [number, number] | 'bad' | undefined {
  const found = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!found || (found[1] === '' && found[2] === '')) return undefined;
  const [, from, to] = found as unknown as [string, string, string];
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  return first >= size || last < first ? 'bad' : [first, last];
}

/** Reads the metadata to store with a file. @throws DaemonRefusal 400 */
function metadataOf(headers: Headers): Record<string, string> {
  const metadata: Record<string, string> = {};
  let total = 0;
  for (const [name, value] of headers) {
    if (!name.startsWith('x-metadata-')) continue;
    const key = name.slice('x-metadata-'.length);
    total += key.length + value.length;
    if (key === '' || key.length > 246 || !/^[\x20-\x7e]*$/.test(value) || total > 4096)
      throw new DaemonRefusal(
        400,
        `${name}: keys have 1 to 246 bytes, values are printable ASCII, 4096 bytes in all`,
      );
    metadata[key] = value;
  }
  return metadata;
}

async function bodyOf(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = (request.headers.get('Content-Encoding') ?? 'identity').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return new Uint8Array(await request.arrayBuffer());
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new DaemonRefusal(400, `content encoding ${JSON.stringify(encoding)} is not supported`);
  const packed = request.body ?? new Blob([]).stream();
  const plain = packed.pipeThrough(
    new DecompressionStream('gzip') as TransformStream<Uint8Array, Uint8Array>,
  );
  const bytes = await new Response(plain).arrayBuffer().catch(() => {
    throw new DaemonRefusal(400, 'the body is not gzip');
  });
  return new Uint8Array(bytes);
}

async function partsOf(request: Request): Promise<{ name: string; bytes: Uint8Array }[]> {
  const body = await bodyOf(request);
  const type = request.headers.get('Content-Type') ?? '';
  const form = await new Response(body, { headers: { 'Content-Type': type } }).formData().catch(() => {
    throw new DaemonRefusal(400, 'the multipart body is broken');
  });
  const parts = form
    .getAll('file')
    .map(async (part) =>
      typeof part === 'string'
        ? { name: '', bytes: new TextEncoder().encode(part) }
        : { name: part.name, bytes: new Uint8Array(await part.arrayBuffer()) },
    );
  return Promise.all(parts);
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}

/** `inline` with the name, and once more in full where that is not plain ASCII. */
function dispositionOf(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const full = plain === name ? '' : `; filename*=UTF-8''${encodeURIComponent(name)}`;
  return `inline; filename="${plain}"${full}`;
}

/** Version of the format that is written, and the only one that is read. */
export const cassetteVersion = 1;

/** Bytes in a cassette: JSON and text stay readable. */
export type Content = { json: unknown } | { text: string } | { base64: string };

/** A piece of an answer, and when it came, ms since the start of the recording. */
export interface Chunk {
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

/**
 * The end of an exchange: the answer was complete, broke off, never came, or its reader left it.
 */
export type Ending =
  | { kind: 'complete' }
  | { kind: 'left' }
  | { kind: 'broken' | 'failed'; message: string; code?: string };

/** One request with its answer. */
export interface Exchange {
  readonly atMs: number;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Undefined: the request failed before an answer came. */
  readonly answer:
    | { readonly atMs: number; readonly status: number; readonly headers: Readonly<Record<string, string>> }
    | undefined;
  readonly chunks: readonly Chunk[];
  readonly ending: Ending;
}

/** A file that is no cassette, or a damaged one. The message names the line and what to do. */
export class CassetteError extends Error {
  override readonly name = 'CassetteError';
}

/** The text of a cassette: a line with the version, then for each exchange one with the request, its answer, its pieces, its end. */
export function writeCassette(exchanges: readonly Exchange[], recordedAt: string): string {
  const lines: unknown[] = [{ cassette: cassetteVersion, recordedAt }];
  for (const [index, { atMs, method, url, headers, body, answer, chunks, ending }] of exchanges.entries()) {
    const id = index + 1;
    lines.push({
      request: id,
      atMs,
      method,
      url,
      headers,
      ...(body.byteLength > 0 ? { body: contentOf(body) } : {}),
    });
    if (answer) lines.push({ answer: id, ...answer });
    for (const chunk of chunks) lines.push({ chunk: id, atMs: chunk.atMs, ...contentOf(chunk.bytes) });
    const { kind, ...why } = ending;
    lines.push({ end: id, how: kind, ...why });
  }
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

/** @throws CassetteError for what is no cassette, is of another version, was damaged by hand, or was cut */
export function readCassette(text: string, name: string): Exchange[] {
  const lines = text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]));
  const [first, ...rest] = lines;
  const again = 'Record it again with record().';
  const fail = (number: number, what: string): never => {
    throw new CassetteError(`${name}, line ${number}: ${what} ${again}`);
  };
  if (!first) throw new CassetteError(`${name} is empty, so it is no cassette. ${again}`);
  const head = parse(first.line, () => fail(first.number, 'is not JSON, so this is no cassette.'));
  if (head.cassette === undefined) fail(first.number, 'does not say "cassette", so this is no cassette.');
  if (head.cassette !== cassetteVersion)
    fail(
      first.number,
      `the cassette has version ${JSON.stringify(head.cassette)}, and only ${cassetteVersion} can be read.`,
    );
  type Draft = { -readonly [Key in keyof Exchange]: Exchange[Key] } & { chunks: Chunk[]; number: number };
  const open = new Map<number, Draft>();
  const done: Exchange[] = [];
  for (const { line, number } of rest) {
    const record = parse(line, () =>
      fail(number, number === lines.at(-1)?.number ? 'is cut in the middle.' : 'is not JSON.'),
    );
    const id = record.request ?? record.answer ?? record.chunk ?? record.end;
    if (typeof id !== 'number') return fail(number, 'is no line of a request, answer, chunk or end.');
    const draft = open.get(id);
    if (record.request !== undefined) {
      const { method, url, headers = {}, atMs = 0 } = record as Partial<Exchange>;
      if (typeof method !== 'string' || typeof url !== 'string')
        return fail(number, 'the request has no method or url.');
      const body =
        record.body === undefined
          ? new Uint8Array()
          : bytesOf(record.body as Content, () => fail(number, badContent));
      open.set(id, {
        atMs,
        method,
        url,
        headers,
        body,
        answer: undefined,
        chunks: [],
        ending: { kind: 'left' },
        number,
      });
    } else if (!draft) {
      return fail(number, `belongs to request ${id}, which is not there or has ended.`);
    } else if (record.answer !== undefined) {
      const {
        status,
        headers = {},
        atMs = 0,
      } = record as { status?: number; headers?: Record<string, string>; atMs?: number };
      if (typeof status !== 'number' || !(status >= 200 && status <= 599))
        return fail(number, 'the answer has no status.');
      draft.answer = { atMs, status, headers };
    } else if (record.chunk !== undefined) {
      const bytes = bytesOf(record as unknown as Content, () => fail(number, badContent));
      draft.chunks.push({ atMs: (record.atMs as number | undefined) ?? 0, bytes });
    } else {
      const { how, message = '', code } = record as { how?: string; message?: string; code?: string };
      if (how === 'complete' || how === 'left') draft.ending = { kind: how };
      else if (how === 'broken' || how === 'failed')
        draft.ending = { kind: how, message, ...(code === undefined ? {} : { code }) };
      else return fail(number, `ends a request in an unknown way: ${JSON.stringify(how)}.`);
      open.delete(id);
      const { number: _, ...exchange } = draft;
      done.push(exchange);
    }
  }
  const [unfinished] = open.values();
  if (unfinished)
    fail(
      unfinished.number,
      `the request ${unfinished.method} ${unfinished.url} has no end: the cassette was cut.`,
    );
  return done.sort((a, b) => a.atMs - b.atMs);
}

const badContent = 'holds neither "json" nor "text" nor valid "base64".';

function parse(line: string, fail: () => never): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return fail();
  }
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : fail();
}

const encoder = new TextEncoder();

/** JSON where writing it again gives the same bytes, else text, else base64. */
function contentOf(bytes: Uint8Array): Content {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { base64: toBase64(bytes) };
  }
  // Control characters mean that this is no text for people: a message of an RPC, for instance.
  if (hasControls(text)) return { base64: toBase64(bytes) };
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === 'object' && JSON.stringify(json) === text) return { json };
  } catch {
    // Then it is text.
  }
  return { text };
}

function hasControls(text: string): boolean {
  for (const character of text) {
    const code = character.charCodeAt(0);
    if (code < 32 && code !== 9 && code !== 10 && code !== 13 && code !== 27) return true;
  }
  return false;
}

function bytesOf(content: Content, fail: () => never): Uint8Array {
  if ('json' in content) return encoder.encode(JSON.stringify(content.json));
  if ('text' in content) return typeof content.text === 'string' ? encoder.encode(content.text) : fail();
  if (typeof content.base64 !== 'string') return fail();
  try {
    return Uint8Array.from(atob(content.base64), (character) => character.charCodeAt(0));
  } catch {
    return fail();
  }
}

function toBase64(bytes: Uint8Array): string {
  return btoa(latin1Of(bytes));
}

/** Bytes as a text with one character for each. */
export function latin1Of(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.byteLength; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

/** The bytes of such a text. */
export function fromLatin1(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

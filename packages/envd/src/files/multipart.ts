import { HttpFailure } from './http-failure.js';

const MAX_HEADER_BYTES = 16 * 1024;
const HEADER_END = Buffer.from('\r\n\r\n');

export interface Part {
  /** `name` of its Content-Disposition; empty when it has none. */
  name: string;
  filename: string | undefined;
  /** To be read before the next part is asked for; what is left is skipped. */
  content: AsyncIterable<Buffer>;
}

/**
 * Reads a multipart/form-data body part by part, holding no more than one chunk.
 *
 * @throws HttpFailure 400 where the body is not multipart, or ends early.
 */
export async function* readParts(body: AsyncIterator<Buffer>, boundary: string): AsyncGenerator<Part> {
  const input = new MultipartInput(body, boundary);
  await input.skipToDelimiter();
  while (await input.startPart()) {
    const { name, filename } = parseDisposition(await input.readHeaders());
    const content = input.readContent();
    yield { name, filename, content };
    for await (const _ of content);
  }
  // The epilogue means nothing, but the client may still be sending it.
  while (await input.fill());
}

/** The boundary of a multipart/form-data content type; undefined when it has none. */
export function parseBoundary(contentType: string): string | undefined {
  const match = /;\s*boundary=(?:"((?:[^"\\]|\\.){1,200})"|([^\s;"]{1,200}))/i.exec(contentType);
  return match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2];
}

class MultipartInput {
  readonly #body: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  /** A body may start with its first boundary, without the line end that belongs to all others. */
  #held: Buffer = Buffer.from('\r\n');

  constructor(body: AsyncIterator<Buffer>, boundary: string) {
    this.#body = body;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  }

  async fill(): Promise<boolean> {
    const next = await this.#body.next();
    if (next.done) return false;
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value]);
    return true;
  }

  async skipToDelimiter(): Promise<void> {
    for await (const _ of this.readContent());
  }

  /** Reads the rest of a delimiter's line. False after the last part. */
  async startPart(): Promise<boolean> {
    while (this.#held.length < 2) await this.#need();
    if (this.#held.toString('latin1', 0, 2) === '--') {
      this.#held = Buffer.alloc(0);
      return false;
    }
    let end = this.#held.indexOf('\r\n');
    while (end === -1 && this.#held.length < 1024) {
      await this.#need();
      end = this.#held.indexOf('\r\n');
    }
    if (end === -1 || !/^[ \t]*$/.test(this.#held.toString('latin1', 0, end)))
      throw malformed('bad boundary line');
    // The line end stays: a part without headers has the empty line directly behind it.
    this.#held = this.#held.subarray(end);
    return true;
  }

  async readHeaders(): Promise<string> {
    let end = this.#held.indexOf(HEADER_END);
    while (end === -1) {
      if (this.#held.length > MAX_HEADER_BYTES) throw malformed('part headers too long');
      await this.#need();
      end = this.#held.indexOf(HEADER_END);
    }
    const headers = this.#held.toString('utf8', 0, end);
    this.#held = this.#held.subarray(end + HEADER_END.length);
    return headers;
  }

  /** Everything up to the next delimiter, which is taken too. */
  async *readContent(): AsyncGenerator<Buffer> {
    const delimiter = this.#delimiter;
    while (true) {
      const end = this.#held.indexOf(delimiter);
      if (end !== -1) {
        const content = this.#held.subarray(0, end);
        this.#held = this.#held.subarray(end + delimiter.length);
        if (content.length > 0) yield content;
        return;
      }
      // A delimiter may be cut by the end of a chunk.
      const safe = this.#held.length - delimiter.length + 1;
      if (safe > 0) {
        const content = this.#held.subarray(0, safe);
        this.#held = this.#held.subarray(safe);
        yield content;
      }
      await this.#need();
    }
  }

  async #need(): Promise<void> {
    if (!(await this.fill())) throw malformed('unexpected end');
  }
}

function parseDisposition(headers: string): { name: string; filename: string | undefined } {
  const line = headers.split('\r\n').find((header) => /^content-disposition\s*:/i.test(header)) ?? '';
  const parameters = new Map<string, string>();
  for (const match of line.matchAll(/;\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g)) {
    // Quotes and backslashes alone are escaped; senders leave other backslashes bare.
    parameters.set(match[1]!.toLowerCase(), match[2]?.replace(/\\(["\\])/g, '$1') ?? match[3] ?? '');
  }
  return {
    name: parameters.get('name') ?? '',
    filename: decodeExtended(parameters.get('filename*')) ?? parameters.get('filename'),
  };
}

/** `UTF-8''a%20b`, by RFC 5987. */
function decodeExtended(value: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value ?? '')?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw malformed('bad filename*');
  }
}

function malformed(reason: string): HttpFailure {
  return new HttpFailure(400, `malformed multipart body: ${reason}`);
}

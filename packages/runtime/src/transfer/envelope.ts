import { createHmac, timingSafeEqual } from 'node:crypto';
import { DriverError } from '../contract/errors.js';

// An object on its way: a mark, a head as JSON, the body in pieces, and an HMAC-SHA-256 of all that came before it. Whoever reads
// one knows at its end, and not before, that nothing is missing, and that who wrote it has the same key.

const MARK = Buffer.from('svc-object 1\n');
/** Descriptions name layers and open files, a few kB. */
const MAX_HEAD_BYTES = 8 * 2 ** 20;
const MAX_PIECE_BYTES = 2 ** 20;
const PIECE_BYTES = 256 * 1024;
const SEAL_BYTES = 32;

/** Writes an envelope. Its bytes depend on head, body and key alone, not on the pieces in which the body comes. */
export async function* writeEnvelope(
  head: unknown,
  body: AsyncIterable<Uint8Array>,
  key: Buffer,
): AsyncGenerator<Buffer> {
  const hash = createHmac('sha256', key);
  const text = Buffer.from(JSON.stringify(head));
  const first = Buffer.concat([MARK, lengthOf(text.length), text]);
  hash.update(first);
  yield first;
  for await (const piece of evenPieces(body)) {
    const framed = Buffer.concat([lengthOf(piece.length), piece]);
    hash.update(framed);
    yield framed;
  }
  const end = lengthOf(0);
  yield Buffer.concat([end, hash.update(end).digest()]);
}

/** An envelope that is being read. */
export interface OpenedEnvelope {
  head: unknown;
  /** @throws {DriverError} `invalid_archive`, at its end too: what was read is worth nothing before. */
  body: AsyncGenerator<Buffer>;
}

/** Reads an envelope as far as its head. @throws {DriverError} `invalid_archive` */
export async function openEnvelope(source: AsyncIterable<Uint8Array>, key: Buffer): Promise<OpenedEnvelope> {
  const bytes = new ByteReader(source);
  const hash = createHmac('sha256', key);
  const take = async (count: number) => {
    const taken = await bytes.take(count);
    hash.update(taken);
    return taken;
  };
  try {
    const mark = await take(MARK.length);
    if (!mark.equals(MARK)) throw damaged('it is of another kind or version');
    const size = (await take(4)).readUInt32BE();
    if (size > MAX_HEAD_BYTES) throw damaged('its description is too long');
    const text = (await take(size)).toString('utf8');
    return { head: parse(text), body: bodyOf(bytes, take, () => hash.digest()) };
  } catch (error) {
    await bytes.close();
    throw error;
  }
}

async function* bodyOf(
  bytes: ByteReader,
  take: (count: number) => Promise<Buffer>,
  seal: () => Buffer,
): AsyncGenerator<Buffer> {
  try {
    for (;;) {
      const size = (await take(4)).readUInt32BE();
      if (size === 0) break;
      if (size > MAX_PIECE_BYTES) throw damaged('a piece of it is too long');
      yield await take(size);
    }
    const own = seal();
    if (!timingSafeEqual(own, await bytes.take(SEAL_BYTES)))
      throw damaged('it was changed, or comes from a host with another transfer key');
    if (!(await bytes.ended())) throw damaged('something follows its end');
  } finally {
    await bytes.close();
  }
}

/** Cuts a stream into pieces of one size, but for the last. */
async function* evenPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (let chunk of source) {
    while (size + chunk.length >= PIECE_BYTES) {
      const part = chunk.subarray(0, PIECE_BYTES - size);
      yield Buffer.concat([...waiting, part]);
      chunk = chunk.subarray(part.length);
      waiting = [];
      size = 0;
    }
    if (chunk.length === 0) continue;
    waiting.push(chunk);
    size += chunk.length;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

/** Leaves out the first bytes of a stream. */
export async function* skipBytes(source: AsyncIterable<Buffer>, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of source) {
    if (left < chunk.length) yield left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}

class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    while (this.#size < count) if (!(await this.#more())) throw damaged('it ends too early');
    const [first] = this.#pieces;
    const all =
      first !== undefined && this.#pieces.length === 1
        ? Buffer.from(first.buffer, first.byteOffset, first.length)
        : Buffer.concat(this.#pieces);
    this.#pieces = [all.subarray(count)];
    this.#size -= count;
    return all.subarray(0, count);
  }

  async ended(): Promise<boolean> {
    while (this.#size === 0) if (!(await this.#more())) return true;
    return false;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done === true) return false;
    this.#pieces.push(value);
    this.#size += value.length;
    return true;
  }
}

function lengthOf(count: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(count);
  return bytes;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged('its description cannot be read');
  }
}

function damaged(why: string): DriverError {
  return new DriverError('invalid_archive', `The copy of a stored object is refused: ${why}.`);
}

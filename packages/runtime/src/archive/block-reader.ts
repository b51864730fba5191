import { ArchiveError } from './archive-limits.js';
import { BLOCK_BYTES } from './tar-header.js';

/** Reads a stream in pieces of the sizes that a tar archive needs, up to a limit. */
export class BlockReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #maxBytes: number;
  #buffer: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #ended = false;

  constructor(source: AsyncIterable<Buffer>, maxBytes: number) {
    this.#source = source[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  /** True if nothing has been read so far. */
  get empty(): boolean {
    return this.#bytes === 0;
  }

  /** The next 512 bytes; undefined at the end. @throws {ArchiveError} when it ends in between */
  block(): Promise<Buffer | undefined> | Buffer {
    return this.bodyNow(BLOCK_BYTES) ?? this.#blockLater();
  }

  async #blockLater(): Promise<Buffer | undefined> {
    if (this.#buffer.length === 0 && !(await this.#fill())) return undefined;
    return this.#take(BLOCK_BYTES);
  }

  /** A body with what fills up its last block, if all of it is here already: waiting for each small file takes longer than reading it. */
  bodyNow(sizeBytes: number): Buffer | undefined {
    const bytes = padded(sizeBytes);
    if (this.#buffer.length < bytes) return undefined;
    const body = this.#buffer.subarray(0, bytes);
    this.#buffer = this.#buffer.subarray(bytes);
    return body;
  }

  /** A body with what fills up its last block. The caller has bounded its size. */
  whole(sizeBytes: number): Promise<Buffer> {
    return this.#take(padded(sizeBytes));
  }

  /** The same as a stream. */
  async *body(sizeBytes: number): AsyncGenerator<Buffer> {
    let left = padded(sizeBytes);
    // Refused before anything of it is passed on.
    if (this.#bytes - this.#buffer.length + left > this.#maxBytes) throw this.#tooLarge();
    while (left > 0) {
      if (this.#buffer.length === 0 && !(await this.#fill())) throw ended();
      const piece = this.#buffer.subarray(0, left);
      this.#buffer = this.#buffer.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  /** Reads on to the end and keeps nothing. */
  async drain(): Promise<void> {
    do this.#buffer = Buffer.alloc(0);
    while (await this.#fill());
  }

  async close(): Promise<void> {
    if (!this.#ended) await this.#source.return?.();
  }

  async #take(bytes: number): Promise<Buffer> {
    const pieces = [this.#buffer];
    let have = this.#buffer.length;
    while (have < bytes) {
      if (!(await this.#fill())) throw ended();
      pieces.push(this.#buffer);
      have += this.#buffer.length;
    }
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    this.#buffer = all.subarray(bytes);
    return all.subarray(0, bytes);
  }

  async #fill(): Promise<boolean> {
    if (this.#ended) return false;
    for (;;) {
      const { value, done } = await this.#source.next();
      if (done === true) {
        this.#ended = true;
        return false;
      }
      this.#bytes += value.length;
      if (this.#bytes > this.#maxBytes) throw this.#tooLarge();
      if (value.length === 0) continue;
      this.#buffer = value;
      return true;
    }
  }

  #tooLarge(): ArchiveError {
    return new ArchiveError(`it has more than ${this.#maxBytes} bytes when it is unpacked`, 'maxBytes');
  }
}

function padded(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
}

function ended(): ArchiveError {
  return new ArchiveError('it ends in the middle of an entry');
}

export interface JsonBounds {
  /** Arrays and objects inside one another. */
  maxDepth: number;
  /** Array elements and object members in all. */
  maxValues: number;
}

/** JSON that is nested too deep or has too many parts. */
export class JsonBoundsError extends Error {
  override readonly name = 'JsonBoundsError';
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Looks at JSON as its bytes come, before a parser makes anything of it: a few megabytes of brackets become hundreds of
 * megabytes of objects, and seconds of work. Whether it is JSON at all is left to the parser.
 */
export class JsonScanner {
  readonly #bounds: JsonBounds;
  #depth = 0;
  #values = 0;
  #inString = false;
  /** The last piece ended in the middle of an escape. */
  #escaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** @throws {JsonBoundsError} */
  push(bytes: Buffer): void {
    const { maxDepth, maxValues } = this.#bounds;
    let at = this.#inString ? this.#skipString(bytes, 0) : 0;
    for (; at < bytes.length; at += 1) {
      const code = bytes[at]!;
      if (code === QUOTE) {
        at = this.#skipString(bytes, at + 1) - 1;
      } else if (code === COMMA || code === COLON) {
        this.#values += 1;
        if (this.#values > maxValues) throw new JsonBoundsError(`more than ${maxValues} values`);
      } else if ((code & 0xdf) === 0x5b) {
        // `[` and `{` differ in one bit, as `]` and `}` do.
        this.#depth += 1;
        if (this.#depth > maxDepth) throw new JsonBoundsError(`more than ${maxDepth} levels`);
      } else if ((code & 0xdf) === 0x5d) this.#depth -= 1;
    }
  }

  /** Index after the closing quote of the string that `start` is in; the length when it continues in the next piece. */
  #skipString(bytes: Buffer, start: number): number {
    this.#inString = true;
    let from = start;
    if (this.#escaped) {
      if (start >= bytes.length) return start;
      this.#escaped = false;
      from += 1;
    }
    for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
      if (backslashesBefore(bytes, at, from) % 2 === 0) {
        this.#inString = false;
        return at + 1;
      }
    }
    this.#escaped = backslashesBefore(bytes, bytes.length, from) % 2 === 1;
    return bytes.length;
  }
}

function backslashesBefore(bytes: Buffer, end: number, start: number): number {
  let count = 0;
  while (end - 1 - count >= start && bytes[end - 1 - count] === BACKSLASH) count += 1;
  return count;
}

/**
 * Parses JSON whose shape is bounded.
 * @throws {JsonBoundsError} beyond the bounds; {SyntaxError} when it is not JSON.
 */
export function parseBoundedJson(bytes: Buffer, bounds: JsonBounds): unknown {
  new JsonScanner(bounds).push(bytes);
  return JSON.parse(bytes.toString('utf8'));
}

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
 * Parses JSON whose shape is bounded. The bounds are checked before the parser makes anything of the text: a few
 * megabytes of brackets become hundreds of megabytes of objects, and seconds of work.
 * @throws {JsonBoundsError} beyond the bounds; {SyntaxError} when it is not JSON.
 */
export function parseBoundedJson(text: string, bounds: JsonBounds): unknown {
  checkBounds(text, bounds);
  return JSON.parse(text);
}

function checkBounds(text: string, { maxDepth, maxValues }: JsonBounds): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) return;
      continue;
    }
    if (code === COMMA || code === COLON) {
      values += 1;
      if (values > maxValues) throw new JsonBoundsError(`more than ${maxValues} values`);
      continue;
    }
    // `[` and `{`, `]` and `}` differ in one bit.
    const bracket = code & ~0x20;
    if (bracket === 0x5b) {
      depth += 1;
      if (depth > maxDepth) throw new JsonBoundsError(`nested deeper than ${maxDepth} levels`);
    } else if (bracket === 0x5d) depth -= 1;
  }
}

/** Index of the closing quote; -1 when there is none, which the parser will refuse. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}

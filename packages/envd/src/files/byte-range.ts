/** Bytes `first` to `last`, both included. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * Reads a `Range` header for content of a size. `whole`: none, another unit, or several ranges, which are answered with
 * everything. `bad`: malformed, or nothing of the content is in it.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'whole' | 'bad' {
  if (header === undefined) return 'whole';
  const set = /^bytes=(.*)$/i.exec(header.trim())?.[1];
  if (set === undefined) return /^\w+=/.test(header.trim()) ? 'whole' : 'bad';
  const ranges = set
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => parseOne(item, size));
  if (ranges.length === 0 || ranges.includes('malformed')) return 'bad';
  const inside = ranges.filter((range) => range !== 'outside');
  if (inside.length === 0) return 'bad';
  return ranges.length === 1 ? (inside[0] as ByteRange) : 'whole';
}

function parseOne(text: string, size: number): ByteRange | 'malformed' | 'outside' {
  const match = /^(\d{0,15})-(\d{0,15})$/.exec(text);
  if (!match || text === '-') return 'malformed';
  const [, first, last] = match;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'outside' : { first: size - length, last: size - 1 };
  }
  if (last !== '' && Number(last) < Number(first)) return 'malformed';
  if (Number(first) >= size) return 'outside';
  return { first: Number(first), last: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** First moment that version 7 of UUIDs cannot tell any more. */
const END_MS = 2 ** 48;

/**
 * The identifier of an entry: a UUID of version 7, so that entries lie in the order of their times. Pure.
 * @param random 20 hex digits
 */
export function entryId(atMs: number, random: string): string {
  const time = timeDigits(atMs);
  const variant = (0x8 | (Number.parseInt(random[3] ?? '0', 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}

/** A text that is not above any identifier from this time on, and above all from before. Pure. */
export function leastEntryId(atMs: number): string {
  const time = timeDigits(atMs);
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

function timeDigits(atMs: number): string {
  const whole = Math.min(Math.max(Math.floor(atMs), 0), END_MS - 1);
  return whole.toString(16).padStart(12, '0');
}

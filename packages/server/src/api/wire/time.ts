/** Milliseconds since the epoch as the wire's RFC 3339 text in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * The first millisecond that is not before a time of RFC 3339. Times count to the microsecond; what is finer is cut off.
 */
export function parseNotBefore(text: string): number {
  const below = /\.\d{3}(\d{1,3})/.exec(text)?.[1];
  return Date.parse(text) + (below !== undefined && Number(below) > 0 ? 1 : 0);
}

/** Milliseconds since the epoch as the wire's RFC 3339 text in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

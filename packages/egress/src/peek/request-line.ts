/** `more`: it may still become one. `none`: this is not HTTP/1. */
export type RequestLineState = { state: 'more' | 'none' } | { state: 'read'; host?: string };

/**
 * Looks for the line of an HTTP/1 request at the beginning of a connection; the rules of messages are up to the HTTP
 * parser. The host is there when it came in the same bytes. Never throws.
 */
export function readRequestLine(bytes: Buffer): RequestLineState {
  const text = bytes.toString('latin1').replace(/^(\r?\n)+/, '');
  if (!/^[A-Z]{1,32} /.test(text)) return { state: /^[A-Z]{0,32}$/.test(text) ? 'more' : 'none' };
  const end = text.indexOf('\n');
  if (end < 0) return { state: 'more' };
  if (!/ HTTP\/1\.[01]\r?$/.test(text.slice(0, end))) return { state: 'none' };
  const host = hostField(text.slice(end + 1));
  return { state: 'read', ...(host === undefined || host === '' ? {} : { host }) };
}

/** Without a pattern: one that goes back over 16 KiB of blanks takes minutes, for all sandboxes. */
function hostField(text: string): string | undefined {
  const lines = text.split('\n').slice(0, -1);
  const line = lines.find((each) => each.slice(0, 5).toLowerCase() === 'host:');
  return line?.slice(5).trim();
}

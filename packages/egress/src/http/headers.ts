/** Fields that are about one connection and not about the message. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Header fields in order, each name before its value, as Node has them raw. */
export type RawHeaders = readonly string[];

/** Leaves out fields that are about the connection, and those that are replaced; then adds. */
export function forwardedHeaders(
  raw: RawHeaders,
  set: readonly (readonly [string, string])[] = [],
): string[] {
  const replaced = new Set(set.map(([name]) => name.toLowerCase()));
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const lower = raw[at]!.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !replaced.has(lower)) kept.push(raw[at]!, raw[at + 1]!);
  }
  for (const [name, value] of set) kept.push(name, value);
  return kept;
}

export function valuesOf(raw: RawHeaders, name: string): string[] {
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]!.toLowerCase() === name);
}

/**
 * The value that goes into a header. `Authorization: Basic USER:PASSWORD`, with a placeholder in it or not, is encoded as
 * servers expect it (RFC 7617); base64 has no colon, so that what is encoded already stays.
 */
export function encodeCredentials(name: string, value: string): string {
  const credentials =
    name.toLowerCase() === 'authorization' ? /^basic +([^:]*:.*)$/i.exec(value)?.[1] : undefined;
  return credentials === undefined ? value : `Basic ${Buffer.from(credentials).toString('base64')}`;
}

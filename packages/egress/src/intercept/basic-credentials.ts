/**
 * The value that goes into a header. `Authorization: Basic USER:PASSWORD`, with a placeholder in it or not, is encoded as
 * servers expect it (RFC 7617); base64 has no colon, so that what is encoded already stays.
 */
export function encodeCredentials(name: string, value: string): string {
  const credentials =
    name.toLowerCase() === 'authorization' ? /^basic +([^:]*:.*)$/i.exec(value)?.[1] : undefined;
  return credentials === undefined ? value : `Basic ${Buffer.from(credentials).toString('base64')}`;
}

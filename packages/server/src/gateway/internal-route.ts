const internalPaths = new Set([
  '/init',
  '/freeze',
  '/unfreeze',
  '/fsfreeze',
  '/fsthaw',
  '/collapse',
  '/upgrade',
  '/logs',
]);

/** More rounds of percent-decoding than any server between here and a handler would do. */
const decodeRounds = 4;

function decodeOnce(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Path without query, dot segments, doubled slashes, backslashes, control characters and final slash. */
export function cleanPath(url: string): string {
  const segments: string[] = [];
  const path = (url.split(/[?#]/, 1)[0] ?? '').replace(/\p{Cc}/gu, '').replaceAll('\\', '/');
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') segments.pop();
    else segments.push(segment.replace(/;.*$/, '').trim());
  }
  return `/${segments.join('/')}`;
}

/**
 * The internal route of the daemon that a request target names, in any spelling, else undefined.
 * Stricter than any router: what could be read as one by someone is one.
 */
export function internalRoute(url: string): string | undefined {
  let spelled = url;
  for (let round = 0; round <= decodeRounds; round++) {
    const path = cleanPath(spelled).toLowerCase();
    if (internalPaths.has(path)) return path;
    const decoded = decodeOnce(spelled);
    if (decoded === spelled) return undefined;
    spelled = decoded;
  }
  return undefined;
}

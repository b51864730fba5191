import {
  type Address,
  formatAddress,
  looksNumeric,
  parseAddress,
  parseRange,
  type Range,
} from './addresses.js';

/** A destination as a client names it. */
export type Host = { kind: 'name'; name: string } | { kind: 'address'; address: Address };

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_NAME = 253;
/** Longer texts are no names in any spelling. To convert 60 KB of letters beyond ASCII takes a tenth of a second. */
const MAX_TEXT = 260;

/**
 * Reads a host as clients write it: in any case, with a trailing dot, with letters beyond ASCII (which become Punycode), an
 * IPv6 address with or without brackets.
 * @returns undefined for what is neither a name nor an address in its standard spelling
 */
export function parseHost(text: string): Host | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  const address = parseAddress(bare);
  if (address !== undefined) return { kind: 'address', address };
  const name = nameOf(text);
  return name === undefined ? undefined : { kind: 'name', name };
}

/** A host in one spelling: a name in lower-case ASCII, or an address without brackets. Undefined for what is neither. */
export function formatHost(text: string): string | undefined {
  const host = parseHost(text);
  return host?.kind === 'address' ? formatAddress(host.address) : host?.name;
}

/** Reads `host:port`, where an IPv6 address has to stand in brackets; of the result it has none. */
export function parseAuthority(text: string): { host: string; port: number } | undefined {
  const { host: given = '', port = 0 } = splitAuthority(text) ?? {};
  const host = formatHost(given);
  return host === undefined || port === 0 ? undefined : { host, port };
}

/** `host` or `host:port`, as the Host header has it. */
export function splitAuthority(text: string): { host: string; port?: number } | undefined {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{0,5}))?$/.exec(text);
  if (match === null) return undefined;
  const [, host = '', port = ''] = match;
  if (host === '' || Number(port) > 65_535) return undefined;
  return port === '' ? { host } : { host, port: Number(port) };
}

function nameOf(text: string): string | undefined {
  const ascii = toAscii(text)?.toLowerCase().replace(/\.$/, '');
  if (ascii === undefined || ascii.length > MAX_NAME || looksNumeric(ascii)) return undefined;
  return ascii.split('.').every((label) => LABEL.test(label)) ? ascii : undefined;
}

/** Every platform converts international names, but only within a URL. */
function toAscii(text: string): string | undefined {
  if (!/[^\0-\x7f]/.test(text)) return text;
  if (/[/?#@:\\%[\]\s]/.test(text)) return undefined;
  return URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : undefined;
}

/** A pattern of hosts: a name, `*.` and a name for all below it, or `*`. */
export type HostPattern = { kind: 'any' } | { kind: 'exact' | 'below'; name: string };

export function parseHostPattern(text: string): HostPattern | undefined {
  if (text.length > MAX_TEXT) return undefined;
  if (text === '*') return { kind: 'any' };
  const below = text.startsWith('*.');
  const name = nameOf(below ? text.slice(2) : text);
  return name === undefined ? undefined : { kind: below ? 'below' : 'exact', name };
}

/** The one spelling of a pattern in which settings are stored. */
export function formatPattern(pattern: HostPattern): string {
  if (pattern.kind === 'any') return '*';
  return pattern.kind === 'exact' ? pattern.name : `*.${pattern.name}`;
}

/**
 * The patterns that match a name, spelled as {@link formatPattern} does: the name, those of its suffixes from the longest, `*`.
 * @param name as {@link parseHost} gives it
 */
export function* patternsOf(name: string): Generator<string> {
  yield name;
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) yield `*${name.slice(dot)}`;
  yield '*';
}

/** An entry of `allowOut`: a range of addresses, or a pattern of names. */
export type Destination = { kind: 'range'; range: Range } | { kind: 'host'; pattern: HostPattern };

export function parseDestination(text: string): Destination | undefined {
  const pattern = parseHostPattern(text);
  if (pattern !== undefined) return { kind: 'host', pattern };
  const range = parseRange(text);
  return range && { kind: 'range', range };
}

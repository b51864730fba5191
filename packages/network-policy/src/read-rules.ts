import { looksNumeric, parseAddress } from './addresses.js';
import { formatPattern, parseHostPattern } from './hosts.js';
import { placeholdersOf } from './placeholders.js';
import { PolicyError } from './policy.js';

/** Transform rules as the platform API has them: by host, a list of at most one transform. */
export type TransformRules = Readonly<
  Record<string, readonly { transform?: { headers?: Record<string, string> | undefined } | undefined }[]>
>;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const FIELD = /^[\t\x20-\x7e\x80-\xff]{0,2048}$/;
/** A rule may not change what frames a request and says where it goes. */
const FORBIDDEN = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'http2-settings',
  'upgrade',
  'te',
  'trailer',
  // No header of it survives being copied from object to object.
  '__proto__',
]);
const MAX_HOSTS = 10;
const MAX_HOST = 128;
const MAX_HEADERS = 20;
const MAX_SECRETS = 32;

/**
 * Reads transform rules.
 * @returns the rules with hosts in lower case
 * @throws {PolicyError}
 */
export function readRules(rules: TransformRules): TransformRules {
  const hosts = Object.keys(rules);
  if (hosts.length > MAX_HOSTS)
    throw new PolicyError(`rules: there are rules for ${hosts.length} hosts, of at most ${MAX_HOSTS}`);
  const read = new Map<string, TransformRules[string]>();
  for (const given of hosts) {
    const host = readRuleHost(given);
    if (read.has(host)) throw new PolicyError(`rules: '${host}' is there twice`);
    requireHeaders(host, rules[given] ?? []);
    read.set(host, rules[given] ?? []);
  }
  return Object.fromEntries(read);
}

/** A host name, or one below `*.`, of letters, digits and hyphens. Connections to bare addresses name no host. */
function readRuleHost(text: string): string {
  const refuse = (why: string) => new PolicyError(`rules: '${text.slice(0, MAX_HOST)}' is not a host${why}`);
  const bare = text.replace(/^\[|\]$/g, '');
  if (parseAddress(bare.split('/')[0]!) !== undefined || looksNumeric(bare))
    throw refuse(' name: write one, such as api.example.com; addresses belong into allowOut');
  const pattern = parseHostPattern(text);
  if (pattern?.kind === 'any') throw refuse(': write the domain, such as *.example.com');
  const host = pattern && formatPattern(pattern);
  if (host === undefined || host.includes('_') || host.length > MAX_HOST)
    throw refuse(` name, or *. and one, of at most ${MAX_HOST} letters, digits, hyphens and dots`);
  if (host !== text.toLowerCase()) throw refuse(` name in its plain spelling: write '${host}'`);
  return host;
}

function requireHeaders(host: string, rules: TransformRules[string]): void {
  if (rules.length > 1) throw new PolicyError(`rules: '${host}' has more than one transform`);
  const headers = Object.entries(rules[0]?.transform?.headers ?? {});
  if (headers.length > MAX_HEADERS)
    throw new PolicyError(`rules: '${host}' has more than ${MAX_HEADERS} headers`);
  const secrets = new Set<string>();
  const names = new Set<string>();
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) throw new PolicyError(`rules: '${host}' has an invalid header name`);
    if (FORBIDDEN.has(lower) || lower.startsWith('proxy-'))
      throw new PolicyError(`rules: the header '${lower}' may not be set`);
    if (names.has(lower)) throw new PolicyError(`rules: the header '${lower}' is there twice`);
    names.add(lower);
    if (!FIELD.test(value)) throw new PolicyError(`rules: the value of '${lower}' is not a header value`);
    const placeholders = placeholdersOf(value);
    if (placeholders === undefined) throw new PolicyError('rules: a placeholder is malformed');
    for (const { kind, name: secret } of placeholders) if (kind === 'secret') secrets.add(secret);
  }
  if (secrets.size > MAX_SECRETS)
    throw new PolicyError(`rules: '${host}' uses more than ${MAX_SECRETS} secrets`);
}

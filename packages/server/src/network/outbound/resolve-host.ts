import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { anyOf } from '#support/any-of';

interface HostAddress {
  address: string;
  family: 4 | 6;
}

interface ResolveOptions {
  /** Default: both. */
  family?: 4 | 6 | undefined;
  signal?: AbortSignal | undefined;
  /** For all that is asked together, ms. Default 10 000. */
  timeoutMs?: number;
  /** Addresses of name servers, with a port where it is not 53. Default: those of `/etc/resolv.conf`. */
  servers?: readonly string[];
  hostsFile?: string;
  resolvConf?: string;
}

const TIMEOUT_MS = 10_000;
/** First wait for one name server, ms. */
const TRY_MS = 2_000;
const TRIES = 2;

/** Name servers say so of names that nobody has; of anything else it is unknown. */
const NOBODY = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** A name that has no address (`ENOTFOUND`), or none that could be found out (`EAI_AGAIN`). */
class UnknownHostError extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN';

  constructor(host: string, code: 'ENOTFOUND' | 'EAI_AGAIN', options?: ErrorOptions) {
    super(`${code} ${host}`, options);
    this.code = code;
  }
}

/**
 * Looks up a name that a tenant gave: in `/etc/hosts`, then with the name servers of `/etc/resolv.conf`.
 *
 * `dns.lookup` would do that on a thread of the process until its end. Only two threads may be at that: two names whose name
 * servers say nothing would stop every look-up of the server, that of its database too.
 * @returns addresses of IPv4 first; at least one.
 * @throws {UnknownHostError}, the signal's reason
 */
export async function resolveHost(host: string, options: ResolveOptions = {}): Promise<HostAddress[]> {
  const { family, signal, hostsFile = '/etc/hosts', resolvConf = '/etc/resolv.conf' } = options;
  signal?.throwIfAborted();
  if (isIP(host) !== 0) return ofFamily(host, [host], family);
  const inFile = await addressesInHostsFile(host.replace(/\.$/, ''), hostsFile);
  if (inFile.length > 0) return ofFamily(host, inFile, family);
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const limit = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const ended = signal === undefined ? limit : anyOf([limit, signal]);
  const cancel = () => resolver.cancel();
  ended.addEventListener('abort', cancel, { once: true });
  try {
    for (const name of namesToAsk(await readFile(resolvConf, 'utf8').catch(() => ''), host)) {
      const found = ended.aborted ? undefined : await ask(resolver, name, family);
      signal?.throwIfAborted();
      if (found === undefined) throw new UnknownHostError(host, 'EAI_AGAIN');
      if (found.length > 0) return ofFamily(host, found, family);
    }
    throw new UnknownHostError(host, 'ENOTFOUND');
  } finally {
    ended.removeEventListener('abort', cancel);
  }
}

/** {@link resolveHost} for what connects. */
export const lookupHost: LookupFunction = (host, options, callback) => {
  const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : options.family;
  resolveHost(host, { family: family === 4 || family === 6 ? family : undefined }).then(
    (addresses) =>
      options.all === true
        ? callback(null, addresses)
        : callback(null, addresses[0]!.address, addresses[0]!.family),
    (error: NodeJS.ErrnoException) => callback(error, '', 0),
  );
};

/** @throws {UnknownHostError} when none is of the family. */
function ofFamily(host: string, addresses: string[], family: 4 | 6 | undefined): HostAddress[] {
  const all = addresses.map((address) => ({ address, family: isIP(address) === 4 ? 4 : 6 }) as const);
  const found = all.filter((each) => family === undefined || each.family === family);
  if (found.length === 0) throw new UnknownHostError(host, 'ENOTFOUND');
  return found.sort((a, b) => a.family - b.family);
}

/** Addresses of a full name; none: nobody has it. Undefined: it cannot be found out. */
async function ask(
  resolver: Resolver,
  name: string,
  family: 4 | 6 | undefined,
): Promise<string[] | undefined> {
  const outcomes = await Promise.allSettled([
    ...(family === 6 ? [] : [resolver.resolve4(name)]),
    ...(family === 4 ? [] : [resolver.resolve6(name)]),
  ]);
  const found = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  if (found.length > 0) return found;
  const known = outcomes.every(
    (outcome) =>
      outcome.status === 'fulfilled' || NOBODY.has((outcome.reason as NodeJS.ErrnoException).code!),
  );
  return known ? [] : undefined;
}

/** Names that every machine has for itself, regardless of its files (RFC 6761). */
const LOCALHOST = ['127.0.0.1', '::1'];

/** Addresses that the operator gave a name in a file such as `/etc/hosts`. Without the file: only `localhost` has some. */
async function addressesInHostsFile(host: string, file: string): Promise<string[]> {
  const found = findInHosts(await readFile(file, 'utf8').catch(() => ''), host);
  return found.length === 0 && host === 'localhost' ? LOCALHOST : found;
}

/** Addresses of a name, in the order of the lines; each once. Case does not matter; what is no address is left out. */
export function findInHosts(text: string, host: string): string[] {
  const wanted = host.toLowerCase();
  const addresses = text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((name) => name.toLowerCase() === wanted) ? [address] : [];
  });
  return [...new Set(addresses)];
}

/**
 * The full names that a name may stand for, in the order in which they are asked, by `search` (or `domain`) and `ndots` of a
 * file such as `/etc/resolv.conf`. A name that ends with a dot is full.
 */
export function namesToAsk(text: string, host: string): string[] {
  if (host.endsWith('.')) return [host.slice(0, -1)];
  const lists = [...text.matchAll(/^(?:search|domain)[ \t]+(.+)$/gm)];
  // The last line counts.
  const domains = (lists.at(-1)?.[1] ?? '')
    .split(/[#;]/, 1)[0]!
    .split(/\s+/)
    .map((domain) => domain.replace(/\.$/, ''))
    .filter((domain) => domain !== '')
    .slice(0, MAX_DOMAINS);
  const ndots = Number(/^options\b.*\bndots:(\d+)/m.exec(text)?.[1] ?? 1);
  const within = domains.map((domain) => `${host}.${domain}`);
  return host.split('.').length > ndots ? [host, ...within] : [...within, host];
}

const MAX_DOMAINS = 6;

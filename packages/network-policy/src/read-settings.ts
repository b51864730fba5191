import { formatAddress, formatRange, parseAddress, parseRange, type Range } from './addresses.js';
import {
  formatHost,
  formatPattern,
  parseAuthority,
  parseDestination,
  parseHostPattern,
  splitAuthority,
} from './hosts.js';
import { DENY_ALL, type EgressPolicy, type EgressProxy, PolicyError } from './policy.js';
import { readRules, type TransformRules } from './read-rules.js';

/** The outbound part of a sandbox's network settings, as the platform API has it. */
export interface EgressSettings {
  allowOut?: readonly string[] | undefined;
  denyOut?: readonly string[] | undefined;
  rules?: TransformRules | undefined;
  egressProxy?: EgressProxy | null | undefined;
}

/** Network settings of a sandbox, as the platform API has them. */
export interface NetworkSettings extends EgressSettings {
  maskRequestHost?: string | undefined;
  httpsPorts?: readonly number[] | undefined;
}

/** Entries of `allowOut` and `denyOut` together, but for the one that denies all, which a list of names needs. */
const MAX_ENTRIES = 1_000;
/** All entries, rules and the proxy together. */
const MAX_POLICY_BYTES = 256 * 1_024;
const MAX_CREDENTIAL_BYTES = 255;
const MAX_MASK = 260;
/** Spellings of longer entries are not guessed at, characters. */
const MAX_HINTED = 1_000;

const encoder = new TextEncoder();
const bytesOf = (text: string) => encoder.encode(text).length;

/**
 * Reads network settings of a request.
 * @param daemonPort the port that no service can have
 * @returns them as {@link readEgress} does; what comes in stays as it is
 * @throws {PolicyError}
 */
export function readNetwork<S extends NetworkSettings>(
  settings: S,
  { daemonPort }: { daemonPort: number },
): S {
  const { maskRequestHost, httpsPorts } = settings;
  const read = readEgress(settings);
  const mask = maskRequestHost?.replaceAll('${PORT}', '1');
  if (
    mask !== undefined &&
    (mask.length > MAX_MASK || !/^[\w.-]+(:\d+)?$/.test(mask) || !splitAuthority(mask))
  )
    throw new PolicyError('maskRequestHost must be an ASCII host, or host:port');
  if (httpsPorts?.includes(daemonPort))
    throw new PolicyError(`httpsPorts: ${daemonPort} is the daemon's port`);
  return read;
}

/**
 * Reads what network settings say of the way out: the one place that says which of them are valid.
 * @returns the settings in the one spelling in which they are stored and enforced: ranges from their first address, names in
 * lower-case ASCII. Reading those again changes nothing.
 * @throws {PolicyError} naming the entry, and what to write instead
 */
export function readEgress<S extends EgressSettings>(settings: S): S {
  const { allowOut, denyOut, rules, egressProxy } = settings;
  const listed = (allowOut?.length ?? 0) + (denyOut?.length ?? 0);
  const entries = denyOut?.includes(DENY_ALL) ? listed - 1 : listed;
  if (entries > MAX_ENTRIES)
    throw new PolicyError(
      `allowOut and denyOut have ${entries} entries together, of at most ${MAX_ENTRIES}: write ranges and *.domain in place of single ones`,
    );
  const read = {
    ...settings,
    ...(denyOut === undefined ? {} : { denyOut: denyOut.map(readDenied) }),
    ...(allowOut === undefined ? {} : { allowOut: allowOut.map(readAllowed) }),
    ...(rules === undefined ? {} : { rules: readRules(rules) }),
    ...(egressProxy === undefined || egressProxy === null ? {} : { egressProxy: readProxy(egressProxy) }),
  };
  if (read.allowOut?.some((entry) => parseHostPattern(entry)) && !read.denyOut?.includes(DENY_ALL))
    throw new PolicyError(`allowOut: with a domain in it, network.denyOut must contain '${DENY_ALL}'`);
  const outbound = [read.allowOut, read.denyOut, read.rules, read.egressProxy];
  const bytes = bytesOf(JSON.stringify(outbound));
  if (bytes > MAX_POLICY_BYTES)
    throw new PolicyError(`outbound settings have ${bytes} bytes together, of at most ${MAX_POLICY_BYTES}`);
  return read;
}

function readDenied(text: string): string {
  const range = parseRange(text);
  if (range === undefined)
    throw new PolicyError(`denyOut: '${clip(text)}' is not an IP address or CIDR range${hintFor(text)}`);
  return formatEntry(text, range);
}

function readAllowed(text: string): string {
  const entry = parseDestination(text);
  if (entry === undefined)
    throw new PolicyError(
      `allowOut: '${clip(text)}' is not an IP address, CIDR range or domain${hintFor(text)}`,
    );
  if (entry.kind === 'host') return formatPattern(entry.pattern);
  const { range } = entry;
  if (isUnspecified(range))
    throw new PolicyError(`allowOut: '${clip(text)}' is not a destination; write '${DENY_ALL}' for all`);
  return formatEntry(text, range);
}

/** An address stays one, as people look for what they wrote. */
function formatEntry(text: string, range: Range): string {
  return text.includes('/') ? formatRange(range) : formatAddress({ ...range, value: range.first });
}

const isUnspecified = ({ first, last }: Range) => first === 0n && last === 0n;

/** Says what to write in place of a spelling that some other program takes; empty when that is not known. */
function hintFor(text: string): string {
  if (text.length > MAX_HINTED) return '';
  const [host = '', bits] = text.split('/');
  const [address = '', zone] = host.split('%');
  const plain = address.replace(/(^|\.)0+(?=\d)/g, '$1');
  const prefix = bits?.replace(/^0+(?=\d)/, '');
  if (zone !== undefined && parseAddress(address)) return `: write it without its zone, '${address}'`;
  const spelled = prefix === undefined ? plain : `${plain}/${prefix}`;
  if (spelled !== text && parseRange(spelled)) return `: write '${spelled}', without leading zeros`;
  if (address.includes(':') && parseAddress(address)?.family === 4)
    return ': the prefix of an IPv4 address inside IPv6 is 96 to 128; write the IPv4 range, such as 10.0.0.0/8';
  if (parseAddress(address) && prefix !== undefined)
    return `: the prefix is a number up to ${address.includes(':') ? 128 : 32}`;
  if (/^[a-z]+:\/\//i.test(text)) return ': write the host alone, without scheme, port and path';
  return '';
}

function readProxy(proxy: EgressProxy): EgressProxy {
  const address = parseAuthority(proxy.address);
  if (address === undefined)
    throw new PolicyError(
      'egressProxy.address must be host:port, such as proxy.example.com:1080 or [2606:4700::1]:1080',
    );
  const { host, port } = address;
  const { username = '', password, tls } = proxy;
  if (password !== undefined && username === '')
    throw new PolicyError('egressProxy.password needs a username');
  if (bytesOf(username) > MAX_CREDENTIAL_BYTES || bytesOf(password ?? '') > MAX_CREDENTIAL_BYTES)
    throw new PolicyError(`egressProxy: username and password have at most ${MAX_CREDENTIAL_BYTES} bytes`);
  const serverName = tls?.serverName === undefined ? undefined : formatHost(tls.serverName);
  if (tls?.serverName !== undefined && serverName === undefined)
    throw new PolicyError(`egressProxy.tls.serverName: '${clip(tls.serverName)}' is not a host name`);
  return {
    ...proxy,
    address: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...(tls === undefined ? {} : { tls: { ...tls, ...(serverName === undefined ? {} : { serverName }) } }),
  };
}

function clip(text: string): string {
  return text.slice(0, 100);
}

/**
 * The policy that settings mean.
 * @param settings as {@link readEgress} gives them
 * @param allowInternetAccess false denies all but what `allowOut` names, whatever `denyOut` says.
 */
export function policyFromSettings(
  { allowOut = [], denyOut = [], rules = {}, egressProxy }: EgressSettings,
  allowInternetAccess?: boolean | null,
): EgressPolicy {
  return {
    allowOut,
    denyOut: allowInternetAccess === false ? [DENY_ALL] : denyOut,
    rules: Object.fromEntries(
      Object.entries(rules).map(([host, [rule]]) => [host, { headers: rule?.transform?.headers ?? {} }]),
    ),
    ...(egressProxy === undefined || egressProxy === null ? {} : { proxy: egressProxy }),
  };
}

import { type Address, contains, parseAddress } from './addresses.js';
import { deniedRangeOf, type NamedRange, readRanges } from './denied-ranges.js';
import {
  formatPattern,
  parseAuthority,
  parseDestination,
  parseHost,
  parseHostPattern,
  patternsOf,
} from './hosts.js';
import { DENY_ALL, type EgressDecision, type EgressFlow, type EgressPolicy } from './policy.js';

export interface EgressOptions {
  /** Ranges that the operator lets sandboxes reach though they are always denied otherwise. Default none. */
  allowRanges?: readonly string[];
}

/** A policy, read once for many decisions. */
export interface CompiledPolicy {
  readonly policy: EgressPolicy;
  /** True when the host that a connection names may change the decision. */
  readonly readsHosts: boolean;
  /**
   * Decides about a connection: always denied ranges, then allowed names and ranges, then denied ranges; the rest is allowed.
   */
  decide(flow: EgressFlow): EgressDecision;
  /** Names the range that denies an address that a name was resolved to; undefined: it may be connected to. */
  deniedAfterDns(address: string): string | undefined;
  /** Decides whether a name is resolved: one that no entry could allow is not. */
  decideName(name: string): { allowed: boolean; rule: string };
  /** Key of the rule whose headers requests for a host get, when it is reached on a port that tells the host. */
  transformOf(host: string, port: number): string | undefined;
}

/** Ports whose connections tell a host. */
export const HOST_PORTS: ReadonlySet<number> = new Set([80, 443]);

const FIRST_V4: Address = { family: 4, value: 0n };
const LAST_V4: Address = { family: 4, value: 0xffff_ffffn };

/** Reads a policy. @throws {TypeError} naming the entry that is not one */
export function compilePolicy(
  policy: EgressPolicy,
  { allowRanges = [] }: EgressOptions = {},
): CompiledPolicy {
  if (policy.proxy !== undefined && parseAuthority(policy.proxy.address) === undefined)
    throw new TypeError(`'${policy.proxy.address}' is not host:port`);
  const except = readRanges(allowRanges);
  const denied = readRanges(policy.denyOut);
  const { names, ranges } = readAllowed(policy.allowOut);
  const transforms = new Map<string, string>();
  for (const key of Object.keys(policy.rules)) {
    const pattern = parseHostPattern(key);
    if (pattern === undefined || pattern.kind === 'any') throw new TypeError(`'${key}' is not a host`);
    transforms.set(formatPattern(pattern), key);
  }
  /** The exact key, else the wildcard with the longest suffix. */
  const bestTransform = (name: string) => {
    for (const pattern of patternsOf(name)) if (transforms.has(pattern)) return transforms.get(pattern);
    return undefined;
  };
  /** The first entry that allows a name. */
  const nameRule = (name: string) => {
    let first = Number.POSITIVE_INFINITY;
    for (const pattern of patternsOf(name)) first = Math.min(first, names.get(pattern) ?? first);
    return Number.isFinite(first) ? `allowOut[${first}] ${policy.allowOut[first]}` : undefined;
  };
  const deniesAll = denied.findIndex(({ range }) => contains(range, FIRST_V4) && contains(range, LAST_V4));
  const nameOf = (host: string | undefined, port: number) => {
    const parsed = host !== undefined && HOST_PORTS.has(port) ? parseHost(host) : undefined;
    return parsed?.kind === 'name' ? parsed.name : undefined;
  };

  return {
    policy,
    readsHosts: names.size > 0 || transforms.size > 0,
    decide: ({ host, address, port }) => {
      const target = parseAddress(address);
      if (target === undefined) return { allowed: false, rule: 'not an address', dial: 'address' };
      const always = deniedRangeOf(target, except);
      if (always !== undefined) return { allowed: false, rule: `private range ${always}`, dial: 'address' };
      const name = nameOf(host, port);
      const key = name === undefined ? undefined : bestTransform(name);
      const transform = key === undefined ? {} : { transform: key };
      const byName = name === undefined ? undefined : nameRule(name);
      if (byName !== undefined) return { allowed: true, rule: byName, dial: 'name', ...transform };
      const byRange = ranges.find(({ range }) => contains(range, target));
      if (byRange !== undefined)
        return {
          allowed: true,
          rule: `allowOut[${byRange.index}] ${byRange.text}`,
          dial: 'address',
          ...transform,
        };
      const listed = denied.findIndex(({ range }) => contains(range, target));
      // A policy that denies every address means those of IPv6 as well.
      const refused = listed >= 0 ? listed : deniesAll;
      if (refused >= 0)
        return { allowed: false, rule: `denyOut[${refused}] ${policy.denyOut[refused]}`, dial: 'address' };
      return { allowed: true, rule: 'default', dial: 'address', ...transform };
    },
    deniedAfterDns: (address) => {
      const target = parseAddress(address);
      return target === undefined ? 'not an address' : deniedRangeOf(target, except);
    },
    decideName: (text) => {
      const host = parseHost(text);
      if (host?.kind !== 'name') return { allowed: false, rule: 'not a host name' };
      const rule = nameRule(host.name);
      if (rule !== undefined) return { allowed: true, rule };
      // Where every address is denied, only what is allowed by name is ever looked up: a query carries data out too.
      if (deniesAll >= 0)
        return { allowed: false, rule: `denyOut[${deniesAll}] ${policy.denyOut[deniesAll]}` };
      return { allowed: true, rule: 'default' };
    },
    transformOf: (host, port) => {
      const name = nameOf(host, port);
      return name === undefined ? undefined : bestTransform(name);
    },
  };
}

/**
 * Returns what a policy needs: `internet`, the kernel may forward everything; `none`, nothing is allowed at all; `governed`, each
 * connection is decided by the egress process.
 */
export function egressMode({
  allowOut,
  denyOut,
  rules,
  proxy,
}: EgressPolicy): 'internet' | 'none' | 'governed' {
  if (denyOut.includes(DENY_ALL) && allowOut.length === 0) return 'none';
  const open = denyOut.length === 0 && Object.keys(rules).length === 0 && proxy === undefined;
  return open ? 'internet' : 'governed';
}

/** Entries of `allowOut`: patterns of names, each with the index where it comes first, and ranges. */
function readAllowed(entries: readonly string[]) {
  const names = new Map<string, number>();
  const ranges: (NamedRange & { index: number })[] = [];
  for (const [index, text] of entries.entries()) {
    const entry = parseDestination(text);
    if (entry === undefined) throw new TypeError(`'${text}' is not an IP address, CIDR range or domain`);
    if (entry.kind === 'range') ranges.push({ index, text, range: entry.range });
    else if (!names.has(formatPattern(entry.pattern))) names.set(formatPattern(entry.pattern), index);
  }
  return { names, ranges };
}

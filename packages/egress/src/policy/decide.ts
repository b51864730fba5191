import { type Address, contains, parseAddress } from './addresses.js';
import { deniedRangeOf, type NamedRange, readRanges } from './denied-ranges.js';
import { type HostPattern, matchesHost, parseHost, parseHostPattern } from './hosts.js';
import { parseProxyAddress } from './read-settings.js';
import { DENY_ALL, type EgressDecision, type EgressFlow, type EgressPolicy } from './types.js';

export interface EgressOptions {
  /** Ranges that the operator lets sandboxes reach though they are always denied otherwise. Default none. */
  allowRanges?: readonly string[];
}

/** A policy, read once for many decisions. */
export interface CompiledPolicy {
  readonly policy: EgressPolicy;
  /** Whether what a connection says of its host may change what is decided. */
  readonly readsHosts: boolean;
  /** Decides about a connection. */
  decide(flow: EgressFlow): EgressDecision;
  /** Whether an address that a name turned out to have may be connected to: the range that denies it, or undefined. */
  deniedAfterDns(address: string): string | undefined;
  /** Whether a name may be resolved, and why: one that no entry could allow is not. */
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
  if (policy.proxy !== undefined) parseProxyAddress(policy.proxy.address);
  const except = readRanges(allowRanges);
  const denied = readRanges(policy.denyOut);
  const { names, ranges } = readAllowed(policy.allowOut);
  const transforms = Object.keys(policy.rules).map((key) => {
    const pattern = parseHostPattern(key);
    if (pattern === undefined || pattern.kind === 'any') throw new TypeError(`'${key}' is not a host`);
    return { key, pattern };
  });
  const nameRule = (name: string) => {
    const found = names.find(({ pattern }) => matchesHost(pattern, name));
    return found && `allowOut[${found.index}] ${found.text}`;
  };
  const deniesAll = denied.findIndex(({ range }) => contains(range, FIRST_V4) && contains(range, LAST_V4));
  const nameOf = (host: string | undefined, port: number) => {
    const parsed = host !== undefined && HOST_PORTS.has(port) ? parseHost(host) : undefined;
    return parsed?.kind === 'name' ? parsed.name : undefined;
  };

  return {
    policy,
    readsHosts: names.length > 0 || transforms.length > 0,
    decide: ({ host, address, port }) => {
      const target = parseAddress(address);
      if (target === undefined) return { allowed: false, rule: 'not an address', dial: 'address' };
      const always = deniedRangeOf(target, except);
      if (always !== undefined) return { allowed: false, rule: `private range ${always}`, dial: 'address' };
      const name = nameOf(host, port);
      const key = name === undefined ? undefined : bestTransform(transforms, name);
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
      // Who denies every address means those of IPv6 as well.
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
      return name === undefined ? undefined : bestTransform(transforms, name);
    },
  };
}

/**
 * Decides about one connection: always denied ranges, then allowed names and ranges, then denied ranges; the rest is
 * allowed. For many connections use {@link compilePolicy}.
 * @throws {TypeError} when the policy has an entry that is not one
 */
export function decideEgress(
  policy: EgressPolicy,
  flow: EgressFlow,
  options?: EgressOptions,
): EgressDecision {
  return compilePolicy(policy, options).decide(flow);
}

/**
 * What a policy needs: `internet`, the kernel may forward everything; `none`, nothing is allowed at all; `governed`, each
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

/** Whether connections have to pass through the egress process. */
export function needsProxy(policy: EgressPolicy): boolean {
  return egressMode(policy) === 'governed';
}

/** An entry of `allowOut`: a range, or a pattern of names. Undefined for what is neither. */
export function parseAllowEntry(
  text: string,
): { kind: 'range'; range: NamedRange['range'] } | { kind: 'host'; pattern: HostPattern } | undefined {
  const pattern = parseHostPattern(text);
  if (pattern !== undefined) return { kind: 'host', pattern };
  try {
    return { kind: 'range', range: readRanges([text])[0]!.range };
  } catch {
    return undefined;
  }
}

function readAllowed(entries: readonly string[]) {
  const names: { index: number; text: string; pattern: HostPattern }[] = [];
  const ranges: (NamedRange & { index: number })[] = [];
  for (const [index, text] of entries.entries()) {
    const entry = parseAllowEntry(text);
    if (entry === undefined) throw new TypeError(`'${text}' is not an IP address, CIDR range or domain`);
    if (entry.kind === 'host') names.push({ index, text, pattern: entry.pattern });
    else ranges.push({ index, text, range: entry.range });
  }
  return { names, ranges };
}

/** The exact key, else the wildcard with the longest suffix. */
function bestTransform(
  transforms: readonly { key: string; pattern: HostPattern }[],
  name: string,
): string | undefined {
  const weight = (pattern: HostPattern) =>
    pattern.kind === 'exact' ? Number.POSITIVE_INFINITY : pattern.kind === 'below' ? pattern.name.length : -1;
  let best: { key: string; pattern: HostPattern } | undefined;
  for (const each of transforms)
    if (matchesHost(each.pattern, name) && (!best || weight(each.pattern) > weight(best.pattern)))
      best = each;
  return best?.key;
}

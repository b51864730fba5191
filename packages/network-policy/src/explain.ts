import { compilePolicy, type EgressOptions } from './compile.js';
import { parseHost } from './hosts.js';
import { placeholdersOf } from './placeholders.js';
import type { EgressPolicy } from './policy.js';

/** The effect of a policy on requests to a URL. */
export interface EgressExplanation {
  /** `depends`: on the address that the host has when it is looked up. */
  verdict: 'allowed' | 'denied' | 'depends';
  /** The rule that decides, see `EgressDecision.rule`. */
  rule: string;
  /** One sentence for a person. */
  why: string;
  /** In lower case, without a trailing dot. */
  host: string;
  port: number;
  /** Names of headers that are set. Those with placeholders are set on HTTPS alone. */
  headers: string[];
  /** True when the connection is opened to set them, with a certificate of the platform's authority. */
  intercepted: boolean;
}

const PORTS: Record<string, number> = { 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443 };

/**
 * Explains, without any traffic, what a policy does with requests to a URL.
 * @param url of scheme http, https, ws or wss
 * @throws {TypeError} for another URL, and for a policy with an entry that is not one
 */
export function explainEgress(
  policy: EgressPolicy,
  url: string | URL,
  options: EgressOptions & { /** Address of the host. */ address?: string } = {},
): EgressExplanation {
  const { protocol, hostname, port: given } = new URL(url);
  const usual = PORTS[protocol];
  if (usual === undefined) throw new TypeError(`${protocol} is not http, https, ws or wss`);
  const port = given === '' ? usual : Number(given);
  const host = parseHost(hostname);
  if (host === undefined) throw new TypeError(`'${hostname}' is not a host`);
  const compiled = compilePolicy(policy, options);
  const name = host.kind === 'name' ? host.name : hostname.replace(/^\[|\]$/g, '');
  const address = host.kind === 'address' ? name : options.address;
  const about = { host: name, port };

  if (address !== undefined) {
    const decision = compiled.decide({ host: name, address, port });
    const headers = decision.allowed ? headersOf(policy, decision.transform, usual) : [];
    const verdict = decision.allowed ? ('allowed' as const) : ('denied' as const);
    const why = `Connections to ${name} port ${port} at ${address} are ${verdict} by ${decision.rule}.`;
    return { verdict, rule: decision.rule, why, ...about, headers, intercepted: opened(headers, port) };
  }

  // Of a name, judge it at an address that only the name could allow.
  const byName = compiled.decide({ host: name, address: UNLISTED, port });
  const headers = headersOf(policy, compiled.transformOf(name, port), usual);
  const shown = { ...about, headers, intercepted: opened(headers, port) };
  if (byName.dial === 'name')
    return {
      verdict: 'allowed',
      rule: byName.rule,
      why: `${name} is allowed by ${byName.rule}, unless it has a private address.`,
      ...shown,
    };
  const lookup = compiled.decideName(name);
  if (!lookup.allowed)
    return {
      verdict: 'denied',
      rule: lookup.rule,
      why: `No entry of allowOut names ${name}, and ${lookup.rule} denies every address.`,
      ...about,
      headers: [],
      intercepted: false,
    };
  if (policy.denyOut.length === 0)
    return {
      verdict: 'allowed',
      rule: 'default',
      why: `Nothing denies ${name}, unless it has a private address.`,
      ...shown,
    };
  return {
    verdict: 'depends',
    rule: 'denyOut',
    why: `No entry of allowOut names ${name}: the address that it has decides, by the ranges of allowOut and denyOut.`,
    ...shown,
  };
}

/** A public address that stands for any. Whether a range names it does not matter: only the name's rule is looked at. */
const UNLISTED = '192.88.99.1';

function headersOf(policy: EgressPolicy, transform: string | undefined, usualPort: number): string[] {
  const headers = transform === undefined ? {} : (policy.rules[transform]?.headers ?? {});
  return Object.entries(headers)
    .filter(([, value]) => usualPort === 443 || placeholdersOf(value)?.length === 0)
    .map(([name]) => name);
}

function opened(headers: readonly string[], port: number): boolean {
  return headers.length > 0 && port === 443;
}

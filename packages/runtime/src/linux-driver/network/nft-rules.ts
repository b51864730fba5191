import { DENIED_RANGES } from '../../gen/denied-ranges.js';

/** Destinations that no sandbox may reach; sandboxes have no IPv6. */
const REFUSED_RANGES = DENIED_RANGES.filter((range) => !range.includes(':'));

/**
 * Group of the gateway's end of a veth pair: its mode. A link has it from its first moment, no rule changes per sandbox, and
 * it can be changed while packets pass. A link in no group carries nothing.
 */
export const LINK_GROUP = { none: 0, internet: 101, governed: 102 } as const;

/** Where the name server of all sandboxes answers, in the gateway. The same on every host, so a restore still finds it. */
export const NAME_SERVER = '198.51.100.53';
/** Where redirected connections arrive, on the gateway's loopback. */
export const PROXY_PORT = 15_001;
/** Marks redirected packets for the gateway's own table of routes. */
export const PROXY_MARK = 1;

/**
 * Marks connections of sandboxes with a network policy that the kernel forwards, and their packets that may pass. A packet that was
 * looked at and may not is distinguished from one of a sandbox whose destinations are not known, as after a restart of the driver.
 */
export const FORWARD_MARK = { allowed: 2, refused: 3 } as const;

/** The most connections that the kernel tracks: it has one table for the host, which sandboxes must not fill. */
export interface ConnectionLimits {
  perSandbox: number;
  /** All sandboxes together. */
  total: number;
}

export interface GatewayRulesOptions {
  limits: ConnectionLimits;
  /** The sandboxes' own addresses and those of the link to the host. */
  block: string;
  /** Parts of the refused ranges that may be reached all the same. */
  allowRanges: readonly string[];
  /** True if the egress process gets the traffic of sandboxes with a network policy. */
  proxied: boolean;
}

const { internet, governed } = LINK_GROUP;

/** Why packets of sandboxes are refused, by the chains that count them and end them. */
export const REFUSALS = {
  foreign: { reason: 'source address of somebody else', verdict: 'drop' },
  limit: { reason: 'connection limit', verdict: 'drop' },
  neighbour: { reason: 'another sandbox or the host', verdict: 'goto refusing' },
  private: { reason: 'private range', verdict: 'goto refusing' },
  protocol: { reason: 'not TCP', verdict: 'goto refusing' },
  unserved: { reason: 'no egress process', verdict: 'goto refusing' },
  closed: { reason: 'no internet access', verdict: 'goto refusing' },
} as const;

/**
 * Each counts by veth pair; counts of deleted pairs expire by themselves. To count is a rule of its own: where a set is
 * full, what comes after it still holds.
 */
const COUNTING_REFUSALS = Object.entries(REFUSALS)
  .map(
    ([name, { verdict }]) => `
  set refused_${name} { type iface_index; size 4096; flags dynamic,timeout; timeout 6h; }
  chain count_${name} { update @refused_${name} { iif counter }; }
  chain refuse_${name} {
    jump count_${name}
    ${verdict}
  }`,
  )
  .join('');

/**
 * Rules of the gateway namespace, where the veth pairs of all sandboxes end. They replace those of an earlier driver at once.
 * Outgoing traffic is counted by the sandbox's address, after all decisions (chain `leaving`), so that a sandbox whose veth pair
 * is deleted still counts; answers to connections of the host, such as the daemon's, are no traffic of the sandbox.
 * Connections that the gateway itself opens belong to the egress process: chain `output` limits them to the destinations open to anybody.
 */
export function gatewayRules({ limits, block, allowRanges, proxied }: GatewayRulesOptions): string {
  return `
table inet sandboxes
delete table inet sandboxes
table inet sandboxes {
  set connections { type ipv4_addr; size 4096; flags dynamic; }
  map forwarded { type ifname : verdict; }
  set sent { type ipv4_addr; size 4096; flags dynamic,timeout; timeout 6h; }
  ${destinations(block, allowRanges)}
  chain refusing {
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }
  ${COUNTING_REFUSALS}
  chain spoofed {
    type filter hook prerouting priority raw; policy accept;
    iifname "uplink" accept
    fib saddr . iif oif missing goto refuse_foreign
  }
  chain counted {
    ct count over ${limits.total} goto refuse_limit
    add @connections { ip saddr ct count over ${limits.perSandbox} } goto refuse_limit
  }
  chain input {
    type filter hook input priority 0; policy drop;
    iifname { "lo", "uplink" } accept
    ct direction reply ct state established,related accept
    iifgroup ${governed} meta mark ${PROXY_MARK} meta l4proto tcp accept
    ip daddr != ${NAME_SERVER} jump count_neighbour
    ip daddr != ${NAME_SERVER} drop
    iifgroup { ${internet}, ${governed} } meta l4proto { tcp, udp } th dport 53 jump names
    iifgroup { ${internet}, ${governed} } goto refuse_neighbour
    goto refuse_closed
  }
  chain names {
    ct state new jump counted
    accept
  }
  chain forward {
    type filter hook forward priority 0; policy drop;
    iifname "uplink" ct direction original accept
    iifname "uplink" oifgroup ${internet} accept
    iifname "uplink" oifgroup ${governed} ct mark ${FORWARD_MARK.allowed} goto returned
    iifname "uplink" meta l4proto tcp reject with tcp reset
    iifname "uplink" drop
    meta nfproto ipv6 drop
    ct direction reply ct state established,related accept
    iifgroup ${internet} jump egress
    ip daddr @own goto refuse_neighbour
    iifgroup ${governed} meta l4proto != tcp goto refuse_protocol
    iifgroup ${governed} ct mark ${FORWARD_MARK.allowed} goto passed
    iifgroup ${governed} goto refuse_unserved
    goto refuse_closed
  }
  chain leaving {
    type filter hook forward priority 10; policy accept;
    oifname "uplink" ct direction original update @sent { ip saddr counter }
  }
  chain passed {
    meta mark set 0
    iifname vmap @forwarded
    meta mark 0 drop
    meta mark != ${FORWARD_MARK.allowed} goto refusing
    ip daddr @refused ip daddr != @excepted goto refuse_private
    oifname "uplink" accept
    goto refusing
  }
  chain returned {
    ct state related accept
    meta mark set 0
    oifname vmap @forwarded
    meta mark 0 drop
    meta mark != ${FORWARD_MARK.allowed} goto refusing
    accept
  }
  chain egress {
    ct state established,related accept
    ct state new jump counted
    ip daddr @own goto refuse_neighbour
    ip daddr @refused ip daddr != @excepted goto refuse_private
    oifname "uplink" accept
  }
  chain outward {
    type nat hook postrouting priority srcnat; policy accept;
    iifgroup { ${internet}, ${governed} } oifname "uplink" masquerade
  }
  chain output {
    type filter hook output priority 0; policy accept;
    ct direction reply accept
    ct state established,related accept
    meta nfproto ipv6 drop
    oifname != "uplink" jump refusing
    ip daddr @own jump refusing
    ip daddr @refused ip daddr != @excepted jump refusing
    meta l4proto != tcp jump refusing
  }
  ${proxied ? TO_EGRESS_PROCESS : ''}
}
`;
}

/**
 * Bring the traffic of sandboxes with a network policy to the egress process, except connections that need no reading (chain `unread`). It also refuses and reports
 * refused destinations, which it could not reach itself (chain `output`). Where nobody listens, packets continue to chain `forward`.
 */
const TO_EGRESS_PROCESS = `
  chain proxied {
    type filter hook prerouting priority mangle; policy accept;
    iifgroup != ${governed} accept
    meta nfproto != ipv4 accept
    meta l4proto != tcp accept
    ct direction reply accept
    ip daddr @own accept
    ct state new jump counted
    ct state new jump unread
    ct mark ${FORWARD_MARK.allowed} accept
    meta l4proto tcp tproxy ip to 127.0.0.1:${PROXY_PORT} meta mark set ${PROXY_MARK} accept
  }
  chain unread {
    ip daddr @refused ip daddr != @excepted return
    iifname vmap @forwarded
    meta mark ${FORWARD_MARK.allowed} ct mark set ${FORWARD_MARK.allowed}
  }
  chain resolved {
    type nat hook prerouting priority dstnat; policy accept;
    iifgroup ${governed} meta nfproto ipv4 udp dport 53 dnat ip to ${NAME_SERVER}:53
  }`;

function destinations(block: string, allowRanges: readonly string[]): string {
  return `set refused { type ipv4_addr; flags interval; elements = { ${REFUSED_RANGES.join(', ')} } }
  ${excepted(allowRanges)}
  set own { type ipv4_addr; flags interval; elements = { ${block}, 127.0.0.0/8, ${NAME_SERVER} } }`;
}

function excepted(ranges: readonly string[]): string {
  const elements = ranges.length === 0 ? '' : ` elements = { ${ranges.join(', ')} }`;
  return `set excepted { type ipv4_addr; flags interval; auto-merge;${elements} }`;
}

export interface HostRulesOptions {
  table: string;
  /** The host's end of the veth pair to the gateway. */
  link: string;
  block: string;
  /** Interface of the default route, when forwarding had to be turned on there. */
  outward: string | undefined;
  allowRanges: readonly string[];
}

/** The only rules on the host: a table of its own that concerns one interface. */
export function hostRules({ table, link, block, outward, allowRanges }: HostRulesOptions): string {
  // Forwarding had to be turned on for the way out; nobody but sandboxes gains by it.
  const others = outward === undefined ? '' : `iifname "${outward}" oifname != "svc*" drop`;
  return `
table inet ${table}
delete table inet ${table}
table inet ${table} {
  set refused { type ipv4_addr; flags interval; elements = { ${REFUSED_RANGES.join(', ')} } }
  ${excepted(allowRanges)}
  chain input {
    type filter hook input priority -10; policy accept;
    iifname "${link}" ct state established,related accept
    iifname "${link}" drop
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname "${link}" ip daddr @refused ip daddr != @excepted drop
    iifname "${link}" meta nfproto ipv6 drop
    oifname "${link}" ct state established,related accept
    oifname "${link}" drop
    ${others}
  }
  chain outward {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${block} oifname != "${link}" masquerade
  }
}
`;
}

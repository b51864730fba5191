/**
 * Destinations no sandbox may reach: private, shared, link-local (cloud metadata among them), loopback, multicast,
 * reserved and documentation ranges.
 */
export const REFUSED_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/** How many connections the kernel tracks: it has one table for the host, which sandboxes must not fill. */
export interface ConnectionLimits {
  perSandbox: number;
  /** All sandboxes together. */
  total: number;
}

/** Rules of the gateway namespace, where the veth pairs of all sandboxes end. Finer egress policy has its place in chain `egress`. */
export function gatewayRules(limits: ConnectionLimits): string {
  return `
table inet sandboxes {
  set connections { type ipv4_addr; size 4096; flags dynamic; }
  set refused { type ipv4_addr; flags interval; elements = { ${REFUSED_RANGES.join(', ')} } }
  chain spoofed {
    type filter hook prerouting priority raw; policy accept;
    iifname "uplink" accept
    fib saddr . iif oif missing drop
  }
  chain input {
    type filter hook input priority 0; policy drop;
    iifname { "lo", "uplink" } accept
    ct state established,related accept
  }
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct state established,related accept
    iifname "uplink" accept
    meta nfproto ipv6 drop
    iifname "i*" ct state new ct count over ${limits.total} drop
    iifname "i*" ct state new add @connections { ip saddr ct count over ${limits.perSandbox} } drop
    iifname "i*" jump egress
    reject with icmp type admin-prohibited
  }
  chain egress {
    ip daddr @refused reject with icmp type admin-prohibited
    oifname "uplink" accept
  }
  chain outward {
    type nat hook postrouting priority srcnat; policy accept;
    iifname "i*" oifname "uplink" masquerade
  }
}
`;
}

/** The only rules on the host: its own table, about one interface and nobody else's traffic. */
export function hostRules(table: string, link: string, block: string, outward: string | undefined): string {
  // Forwarding had to be turned on for the way out; nobody but sandboxes gains by it.
  const others = outward === undefined ? '' : `iifname "${outward}" oifname != "svc*" drop`;
  return `
table inet ${table} {
  set refused { type ipv4_addr; flags interval; elements = { ${REFUSED_RANGES.join(', ')} } }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname "${link}" ct state established,related accept
    iifname "${link}" drop
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname "${link}" ip daddr @refused drop
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

/** Denies every address: as settings are stored, the only spelling of it. */
export const DENY_ALL = '0.0.0.0/0';

/** Says which connections may leave a sandbox, through which proxy, and with which headers. Plain data; treat it as immutable. */
export interface EgressPolicy {
  /**
   * Destinations that are allowed whatever {@link denyOut} says: IP addresses, CIDR ranges, exact domains, `*.suffix` (any
   * depth, not the suffix itself), `*`. Domains are known of HTTP on port 80 and TLS on port 443 alone.
   */
  allowOut: readonly string[];
  /** Denied destinations: IP addresses and CIDR ranges. What neither list names is allowed. */
  denyOut: readonly string[];
  /** Headers that requests get, by host: a DNS name, or `*.` and a name. A rule allows nothing by itself. */
  rules: Readonly<Record<string, EgressRule>>;
  /** SOCKS5 proxy that every allowed connection goes through. Without it none leaves. */
  proxy?: EgressProxy;
}

/** Changes to requests for a host. */
export interface EgressRule {
  /** Headers that are set, or replaced when the request has them; with placeholders. */
  headers: Readonly<Record<string, string>>;
}

/** A SOCKS5 proxy. */
export interface EgressProxy {
  /** `host:port`. An IPv6 address stands in brackets. */
  address: string;
  /** At most 255 bytes, as {@link password}. */
  username?: string;
  password?: string;
  /** TLS to the proxy itself. */
  tls?: {
    enabled: boolean;
    /** Name that the proxy's certificate must have. Default: the host of `address`. */
    serverName?: string;
    /** PEM of the authority that signed it. Default: the well-known ones. */
    caCert?: string;
  };
}

/** A connection that a sandbox wants. */
export interface EgressFlow {
  /** The destination that the sandbox names: the name in TLS on port 443, the Host header on port 80. */
  host?: string;
  /** Where the connection was going. */
  address: string;
  port: number;
}

export interface EgressDecision {
  allowed: boolean;
  /** The rule that decided: `allowOut[2] *.example.com`, `denyOut[0] 0.0.0.0/0`, `private range 10.0.0.0/8`, `default`. */
  rule: string;
  /** `name`: the name is resolved anew and connected to; `address`: the address that the sandbox chose is. */
  dial: 'name' | 'address';
  /** Key of the rule in {@link EgressPolicy.rules} whose headers requests get. */
  transform?: string;
}

/** Network settings that are not valid. The message begins with the setting, and says what to write where that is known. */
export class PolicyError extends TypeError {
  override name = 'PolicyError';
}

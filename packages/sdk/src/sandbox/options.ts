import type { RequestOptions } from '../core/call-context.js';

/** The action at the end of a sandbox's time to live, and if requests wake it. */
export interface SandboxLifecycleOptions {
  /** `pause` keeps it to be resumed, `kill` ends it. Default: the service's, `kill`. */
  onTimeout?: 'pause' | 'kill' | undefined;
  /** True when that pause keeps the memory; false keeps files only. Needs `onTimeout: 'pause'`. Default: the service's, true. */
  keepMemory?: boolean | undefined;
  /** True when a request to the paused sandbox resumes it. Needs `onTimeout: 'pause'` and memory. Default: the service's, false. */
  autoResume?: boolean | undefined;
}

/** A change to outbound requests to one host. */
export interface NetworkRule {
  /** Sets headers of matching requests, at most 20. Values may hold what `secret` and `identityToken` give. */
  transform?: { headers?: Record<string, string> } | undefined;
}

/** A SOCKS5 proxy for outbound connections. */
export interface EgressProxy {
  /** `host:port`; public addresses only. */
  address: string;
  username?: string | undefined;
  /** Needs `username`. Never read back. */
  password?: string | undefined;
  /** TLS to the proxy itself. */
  tls?:
    | {
        enabled: boolean;
        /** Name that its certificate must have. Default: the host of `address`. */
        serverName?: string | undefined;
        /** Certificate of the authority that signed it, as PEM. Default: the well-known ones. */
        caCert?: string | undefined;
      }
    | undefined;
}

/** The network policy of a sandbox's outgoing connections. */
export interface EgressOptions {
  /**
   * Destinations that are always allowed: IP, CIDR range, domain, `*.domain`, `*`. Wins over `denyOut`. At most 1000 entries together
   * with `denyOut`, of at most 260 letters.
   */
  allowOut?: string[] | undefined;
  /** Destinations that are denied, as IP or CIDR range; `0.0.0.0/0` denies all. */
  denyOut?: string[] | undefined;
  /** Proxy for every outbound TCP connection. A feature of the team. */
  egressProxy?: EgressProxy | undefined;
  /** Changes to outbound requests by host: a DNS name, or `*.` and a DNS name, at most 10. One rule a host. */
  rules?: Record<string, NetworkRule[]> | undefined;
}

/** The network policy of a sandbox, in both directions. */
export interface NetworkOptions extends EgressOptions {
  /** True when ports answer without a token (`sandbox.fetch` sends it). Default: the service's, true. */
  allowPublicTraffic?: boolean | undefined;
  /** Host header that services inside see; `${PORT}` stands for the port. */
  maskRequestHost?: string | undefined;
  /** Ports inside that speak HTTPS; the certificate is not checked. */
  httpsPorts?: number[] | undefined;
}

/** Workload identity of a sandbox. */
export interface IamOptions {
  /** Short-lived tokens by name, at most 5. */
  tokens?: Record<string, { audience: string; tokenType: 'JWT-SVID' }> | undefined;
}

/** Settings of a new sandbox. What is left out is not sent: the service's defaults apply. */
export interface CreateSandboxOptions extends RequestOptions {
  /** Template, as name, `namespace/name`, id, each with an optional `:tag`, or a snapshot's id. Default `base`. */
  template?: string | undefined;
  /**
   * Time to live, ms, rounded up to whole seconds, from 1000 to the team's `limits.maxTimeoutMs` (24 h unless set
   * otherwise); more is refused. Default: the service's, 5 minutes.
   */
  timeoutMs?: number | undefined;
  /** Pairs to find the sandbox by. */
  metadata?: Record<string, string> | undefined;
  /** Environment variables of every process in the sandbox. */
  envs?: Record<string, string> | undefined;
  /** Short for `lifecycle.onTimeout`: true is `pause`, false is `kill`. */
  autoPause?: boolean | undefined;
  lifecycle?: SandboxLifecycleOptions | undefined;
  /** True when it may open connections to the internet. Default: the service's, allowed. */
  allowInternetAccess?: boolean | undefined;
  network?: NetworkOptions | undefined;
  iam?: IamOptions | undefined;
  /** Settings of an MCP gateway inside, by server. Stored with the sandbox; a template that runs such a gateway reads them. */
  mcp?: Record<string, unknown> | undefined;
  /** Volumes by the absolute path at which they appear. */
  volumeMounts?: Record<string, string | { readonly name: string }> | undefined;
  /** Makes the call safe to repeat: the same key and options never give two sandboxes. 1 to 255 of `[a-z0-9]`. */
  idempotencyKey?: string | undefined;
}

/** Options of connecting to a sandbox. */
export interface ConnectSandboxOptions extends RequestOptions {
  /**
   * Time to live from now, ms, rounded up to whole seconds, from 1000 to the team's `limits.maxTimeoutMs`; more is
   * refused. Never shortens that of a running one. Default: the service's, 5 minutes, with `autoPause` 15 s.
   */
  timeoutMs?: number | undefined;
  /** True when a paused sandbox gets its memory back; false boots it again from its files. Default: the service's, true. */
  memory?: boolean | undefined;
  /**
   * True when the resumed sandbox is paused at the end of its time to live, false when it is killed. Default: as before.
   * Needs a paused sandbox: the setting of a running one cannot be changed.
   */
  autoPause?: boolean | undefined;
}

/** Which sandboxes to list. */
export interface ListSandboxesOptions extends RequestOptions {
  /** Default: both. */
  state?: SandboxState | readonly SandboxState[] | undefined;
  /** Every pair must be equal. */
  metadata?: Record<string, string> | undefined;
  /** Template by id or name, without a tag. */
  template?: string | undefined;
  /** Started at this time or later. */
  startedAfter?: Date | undefined;
  /** By start time. Default: the service's, `desc`. */
  order?: 'asc' | 'desc' | undefined;
  /** Items on a page, 1 to 100. Default: the service's, 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier page: continues after it. */
  nextToken?: string | undefined;
}

/** `running` or `paused`. */
export type SandboxState = 'running' | 'paused';

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The two tokens of a daemon: what its clients show, and what it knows itself. The first never enters the sandbox. */
export interface DaemonCredentials {
  clientToken: string;
  ownToken: string;
}

/**
 * The facts about one sandbox that the gateway needs to send a request into it.
 * It is asked for afresh for every request; it must be cheap (no disk).
 */
export interface Route {
  sandboxId: string;
  /** `transition`: pausing, snapshotting, resuming; the request waits until that is over. */
  state: 'running' | 'paused' | 'transition';
  /**
   * Names the running instance (for example the driver's instance id plus a counter of resumes). Kept-alive
   * connections are reused only under the same value, so it has to change at each resume or restore.
   */
  instanceKey: string;
  /**
   * Opens a connection to a TCP port of the sandbox, loopback listeners included. Rejects when nothing listens.
   * The gateway retries within its budget; the caller owns (and destroys) the stream.
   */
  dial(port: number, signal: AbortSignal): Promise<Duplex>;
  /** Returns the sandbox's use of its limits, in the form of the daemon's `GET /metrics`. Absent: the daemon is asked. */
  metrics?: (() => Promise<Record<string, number>>) | undefined;
  /** The daemon's credentials. Absent: it asks for none, and requests go to it as they come. */
  daemon?: DaemonCredentials | undefined;
  /** False: every port but the daemon's needs the traffic token, or a preview link. */
  allowPublicTraffic: boolean;
  /** Token that opens private ports, and with which preview links are signed. */
  trafficToken(): string;
  /** Host that the service inside sees, `${PORT}` replaced. Absent: the host that the client sent. */
  maskRequestHost?: string | undefined;
  /** Ports that speak TLS. Their certificate is not verified. */
  httpsPorts: readonly number[];
  /** True when a request wakes the paused sandbox: enabled, and a snapshot with memory is stored. */
  autoResume: { enabled: boolean };
}

/** The credentials of a client whose request woke a sandbox. The gateway has checked it against the route already. */
export interface ResumeCredentials {
  port: number;
  accessToken: string | undefined;
  trafficAccessToken: string | undefined;
}

/** The outcome of an attempt to wake a paused sandbox. Messages are shown to the client. */
export type ResumeOutcome =
  | { kind: 'running'; route: Route }
  /** Killed meanwhile. Answered like an unknown sandbox. */
  | { kind: 'deleted' }
  /** Blocked team, and the like. 403. */
  | { kind: 'refused'; message: string }
  /** Too many running sandboxes. 429. */
  | { kind: 'limited'; message: string }
  /** Another operation has the sandbox. The gateway waits for it and starts over. */
  | { kind: 'transition' }
  /** Another server has it now, which answers the request. */
  | { kind: 'moved' };

/** The sandbox and port of a request, or the reason why they are unknown. */
export type AddressedRequest =
  | { kind: 'refused'; reason: RefusalReason }
  | {
      kind: 'target';
      sandboxId: string;
      port: number;
      /** Host that the client named. */
      host: string | undefined;
      /** Path with query. */
      url: string;
      toDaemon: boolean;
      /** The direction of the request's stream when it is one of the daemon's, by which clients follow a program. */
      daemonStream: 'output' | 'input' | undefined;
    };

/** A pino-like log. The gateway never hands it tokens, header values or query strings. */
export interface GatewayLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface GatewayConfig {
  /** Hosts (no port) of `{sandbox_url}` on which routing headers are required. Default none. */
  sandboxHosts?: readonly string[];
  /** Brands whose routing headers are understood besides `Svc-`, for example `['Acme-']`. Default none. */
  headerPrefixes?: readonly string[];
  /** True when clients come by TLS that ends in front of this gateway. Default false. */
  tls?: boolean;
  /** Port of the daemon as clients name it. Default 49983. */
  daemonPort?: number;
  /** Requests and upgraded connections that one sandbox may have open at once. Default 1000. */
  connectionLimitPerSandbox?: number;
  /** Time within which a refused dial is tried again, ms. Default 1000. */
  dialBudgetMs?: number;
  /** Longest that one try of a dial may take, ms. Default 30 000. */
  dialTimeoutMs?: number;
  /** Longest wait of a request for a sandbox in transition, ms. Default 60 000. */
  transitionWaitMs?: number;
  /** Time without the head of an answer after which the daemon is asked whether it is healthy, ms. Default 10 000. */
  silenceMs?: number;
  /** Longest that the daemon may take to say so, ms; after two failures the request ends. Default 10 000. */
  healthMs?: number;
  /** Lifetime of an unused connection to the daemon, ms. Default 620 000 (the daemon keeps it 640 s). */
  daemonIdleMs?: number;
  /** Lifetime of an unused connection to any other port, ms. Default 4000 (many servers close after 5 s). */
  serviceIdleMs?: number;
  /** Time that a client gets to fetch the rest of a stream that was ended, ms. Default 30 000. */
  drainMs?: number;
}

/** Takes over requests whose sandbox is on another node by now. Nothing of them was read or answered. */
export interface OtherNodes {
  /** Returns whether another node has it. */
  has(sandboxId: string): Promise<boolean>;
  request(
    req: IncomingMessage,
    res: ServerResponse,
    sandboxId: string,
    expectContinue: boolean,
  ): Promise<void>;
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, sandboxId: string): Promise<void>;
}

export interface GatewayDeps {
  /** The sandbox, or undefined when it is unknown or killed. */
  findRoute(sandboxId: string): Promise<Route | undefined> | Route | undefined;
  /** Wakes a paused sandbox; resolves once its daemon is healthy. Called once at a time for one sandbox. */
  resume(sandboxId: string, credentials: ResumeCredentials): Promise<ResumeOutcome>;
  /** Resolves when the sandbox is no longer in transition. Default: `findRoute` is asked again every 50 ms. */
  settled?: ((sandboxId: string, signal: AbortSignal) => Promise<void>) | undefined;
  /** Answers for sandboxes that another server has taken over since a request came. Default: such a sandbox is unknown. */
  otherNodes?: OtherNodes | undefined;
  /** Receives client connections over which a request reached a sandbox. */
  onAdmitted?: ((socket: Socket) => void) | undefined;
  config?: GatewayConfig;
  /** Default: nothing is logged. */
  log?: GatewayLog;
  /** Clock for durations, ms. Default `performance.now`. */
  now?: () => number;
  /** Time of day for the expiry of preview links, ms since 1970. Default `Date.now`. */
  wallNow?: () => number;
}

/** The reason why the gateway answered by itself. Key of `stats.refusals`. */
export type RefusalReason =
  | 'missing_header'
  | 'invalid_host'
  | 'invalid_sandbox_id'
  | 'invalid_port'
  | 'bad_request'
  | 'method_refused'
  | 'internal_route'
  | 'sandbox_not_found'
  | 'port_closed'
  | 'transition'
  | 'resume_refused'
  | 'resume_limited'
  | 'connection_limit'
  | 'private_ingress'
  | 'access_token'
  | 'sandbox_stopped'
  | 'daemon_silent'
  | 'upstream_failed';

/** Counters since start, and gauges named `open*` and `idle*`. */
export interface GatewayStats {
  requests: number;
  upgrades: number;
  openRequests: number;
  openUpgrades: number;
  refusals: Record<RefusalReason, number>;
  /** Exchanges that the client left before their end. */
  clientAborts: number;
  /** Exchanges whose sandbox side broke after the response had begun. */
  upstreamAborts: number;
  /** Exchanges ended by `close`. */
  closedExchanges: number;
  autoResumes: number;
  dials: number;
  dialRetries: number;
  dialFailures: number;
  reusedConnections: number;
  idleConnections: number;
  requestBytes: number;
  responseBytes: number;
}

/** The reason why open exchanges of a sandbox end. `unreachable`: it continues, but not through this gateway. */
export type StopReason = 'paused' | 'killed' | 'expired' | 'ended' | 'unreachable';

/**
 * The way into sandboxes at `{sandbox_url}`. Wire it to an HTTP server made with `gatewayServerOptions`:
 * `request` -> handleRequest, `checkContinue` -> handleContinue, `upgrade` -> handleUpgrade, `connect` -> handleConnect.
 */
export interface Gateway {
  /** Reads which sandbox a request means, whether it exists or not. The handlers take it, or read it themselves. */
  read(req: IncomingMessage): AddressedRequest;
  handleRequest(req: IncomingMessage, res: ServerResponse, addressed?: AddressedRequest): void;
  /** As handleRequest, for requests with `Expect: 100-continue`: the sandbox decides whether the body is sent. */
  handleContinue(req: IncomingMessage, res: ServerResponse, addressed?: AddressedRequest): void;
  handleUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer, addressed?: AddressedRequest): void;
  /** Refuses the CONNECT method. */
  handleConnect(req: IncomingMessage, socket: Duplex): void;
  /**
   * Ends every open exchange of one sandbox (of all without an id) and forgets its kept-alive connections. Set the
   * sandbox's state first, so that no new request slips in. Connections to the sandbox are closed when it returns; the
   * promise resolves when clients have got their ends or after `drainMs`. Connect streams end with `unavailable`, and
   * a message with the reason; default `unreachable`.
   */
  close(sandboxId?: string, reason?: StopReason): Promise<void>;
  readonly stats: GatewayStats;
}

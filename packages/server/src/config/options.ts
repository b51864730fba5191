import type { BaseRoot, Driver, DriverName, IdPool, Isolation } from '@svc/runtime';
import type { Ids } from '../ids/ids.js';
import type { RateLimit } from '../limits/rate-limit.js';
import type { TeamLimits } from '../limits/team-limits.js';
import type { StorageOptions } from '../storage/open.js';

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** How to start a server. Everything has a default but the data directory. */
export interface ServerOptions {
  /**
   * The server's own directory; made with mode 0700. One server at a time. A program has to name it.
   * Default: `/var/lib/svc` for root, else `~/.local/state/svc`.
   */
  dataDir: string;
  /** Address that API, gateway and operator port listen on. Default `127.0.0.1`. */
  host?: string;
  /** Port of the platform API; 0 takes any. Default 3000. */
  apiPort?: number;
  /** Port of the gateway; 0 takes any. Default 3002. */
  sandboxPort?: number;
  /** Port of `/metrics`, `/status` and the operations on teams; 0 takes any, false opens none. Default 3003. */
  operatorPort?: number | false;
  /**
   * Credential of the operations on the operator port: teams, limits, keys. At least 32 characters. Default: made once and
   * kept in `operator-token` in the data directory.
   */
  operatorToken?: string;
  /** Base URL of the API as clients reach it. Default from host and port. */
  publicApiUrl?: string;
  /**
   * URL that identity tokens name as their issuer: `/.well-known/openid-configuration` below it must reach this API.
   * Default: the public URL of the API.
   */
  issuer?: string;
  /** Base URL of the gateway as clients reach it. Default from host and port. */
  publicSandboxUrl?: string;
  /** Base URL of this server's API as other servers on the same PostgreSQL reach it. Default from host and port. */
  nodeApiUrl?: string;
  /** Base URL of this server's gateway as other servers on the same PostgreSQL reach it. Default from host and port. */
  nodeSandboxUrl?: string;
  /** Ports of sandboxes are reached as `<port>-<sandboxID>.<domain>`. Default `svc.localhost`. */
  domain?: string;
  /** Further brands whose routing headers the gateway understands, for example `['Acme-']`. Default none. */
  headerPrefixes?: string[];
  /** `linux`, `process` (no isolation), or a driver of your own, which you close yourself. Default: `linux`. */
  driver?: DriverName | Driver;
  /** User that a program which is a server becomes when root starts it with the `linux` driver. Default `svc`, made where it is missing. */
  user?: string;
  /**
   * Socket of a `svc-runtime` that was started by itself, in a unit of its own. A program that is a server then needs no rights of
   * root from the beginning. Default: root starts `svc-runtime` with the server.
   */
  runtimeSocket?: string;
  /** Runtime of the `linux` driver: `runc`, `crun`, `runsc`, `kata` or a path. Default: `runc`, with `crun` to start where it is there. */
  ociRuntime?: string;
  /**
   * What sandboxes of the template `base` stand on with the `linux` driver: `debian`, a root file system that is built once, or
   * `host`, the host's `/usr`, which needs no download. The template `host` always has the latter. Default `debian`.
   */
  baseRoot?: BaseRoot;
  /**
   * What keeps sandboxes apart from the host's kernel with the `linux` driver: `container`, namespaces on that kernel, or `gvisor`, a
   * kernel of their own that runs as a program. Sandboxes that are there keep theirs. Default `container`.
   */
  isolation?: Isolation;
  /**
   * What keeps the sandboxes of some templates apart instead, by id of the template, or by name for `base` and `host`:
   * `{ base: 'gvisor' }`. Their builds run so too. A snapshot with memory goes on with what it was taken of. Default none.
   */
  templateIsolation?: Record<string, Isolation>;
  /** Whether the server starts only once a sandbox has been started, to see that it can be. Default false; `svc server up` does it. */
  trialStart?: boolean;
  /** Default: SQLite in the data directory. */
  storage?: StorageOptions;
  /** Name of this server among those that share a database. Default: made once and kept in the data directory. */
  nodeId?: string;
  /** 64 hex digits that protect what is stored encrypted. Default: made once and kept in the data directory. */
  serverKey?: string;
  /** What teams may use, where their record says nothing. Sandboxes at once: 500. */
  teamLimits?: Partial<TeamLimits>;
  /**
   * Requests per second and at once, for each team: `create` counts requests that make sandboxes, `general` the others.
   * A rate of 0 switches one off. Default: 100 creates a second and 1000 at once; 1000 others a second and 5000 at once.
   */
  rateLimits?: {
    /** Requests that make no sandbox. */
    general?: RateLimit;
    /** Requests that make sandboxes. */
    create?: RateLimit;
  };
  /** Sandboxes that run at once, all teams together. Default 1000. */
  maxSandboxes?: number;
  /** Memory that all sandboxes together may use. Default: the host's but a tenth of it, at least 256 and at most 2048. */
  maxMemoryMiB?: number;
  /**
   * What stays free on the disk of the data directory, for the database and the host. Default: 5 % of it, at most 2048.
   */
  diskReserveMiB?: number;
  /**
   * User and group ids of the host that sandboxes get with the `linux` driver: `{ first: 600000000, count: 67108864 }`. Each
   * needs 65,536; as many as may run at once and wait in the pool must fit, or 1,024. They must be nobody else's: from 65536 to
   * 2147483647, clear of `/etc/subuid` and `/etc/subgid`. While sandboxes run they keep what they have. Default: 67,108,864 from
   * 536870912 on that are free.
   */
  userIds?: IdPool;
  /** How connections leave sandboxes. */
  egress?: {
    /** Resolvers that names of sandboxes are looked up at: addresses, with `:port` where it is not 53. Default: those of the host. */
    dns?: string[];
    /**
     * Private addresses and CIDR ranges that sandboxes with a policy may reach all the same, as a mirror in your network. Default
     * none.
     */
    allowRanges?: string[];
    /**
     * Variables of the server's environment that secrets of the value `env:NAME` stand for. Every team may use them, and so
     * learn their values. Default none: such a value stands for itself.
     */
    secretVariables?: string[];
    /** Absolute directories with files that secrets of the value `file:/path` stand for; as with variables. Default none. */
    secretDirectories?: string[];
    /** PEM file of authorities that are trusted for servers whose requests get headers, beside the well-known ones. Default none. */
    trustedRoots?: string;
  };
  /** Sandboxes of `base` kept booted and waiting. Default 4 with the `linux` driver, 0 otherwise. */
  poolSize?: number;
  /** Sizes of the template `base`, at the first start. Default 2 cores, 1024 MiB, 10240 MiB of disk. */
  base?: {
    /** Processor cores. Default 2. */
    cpuCount?: number;
    /** Memory. Default 1024. */
    memoryMiB?: number;
    /** Disk. Default 10240. */
    diskMiB?: number;
  };
  /** Least weight of the log lines that are written. Default `info`; `svc server up` in the foreground: `error`. */
  logLevel?: LogLevel;
  /** Checks every answer against the OpenAPI document. For tests. Default false. */
  validateResponses?: boolean;
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: () => number;
  ids?: Ids;
  /** Whether stopping the server ends its sandboxes; else they run on and are taken over by the next start. Default false. */
  destroySandboxesOnStop?: boolean;
  /** Longest that `stop` waits for requests under way, to the API and into sandboxes, ms. Default 10 000. */
  drainMs?: number;
  /** How often expiry is looked at, ms. Default 100; 0 leaves it to the caller (`server.expireDue()`). */
  expiryIntervalMs?: number;
  /** Further settings, each with a default: see `docs/settings.md`. */
  tuning?: Tuning;
}

export interface Tuning {
  /** How long starting a sandbox may take, ms. */
  placementTimeoutMs?: number;
  /** How long one API request may take, ms; streams have no limit. */
  requestTimeoutMs?: number;
  /** Largest JSON body of an API request. */
  bodyLimitBytes?: number;
  /** Largest archive of build files. */
  uploadLimitBytes?: number;
  archives?: {
    /** Entries in an archive of build files, or in an image. */
    maxEntries?: number;
    /** Bytes of one name, and of the target of one link. */
    maxNameBytes?: number;
    /** Bytes of all names together. */
    maxNamesBytes?: number;
    /** Names in one path. */
    maxDepth?: number;
    /** Bytes of the extension headers of one entry. */
    maxHeaderBytes?: number;
    /** Bytes of build files or of an image when they are unpacked. */
    maxBytes?: number;
    /** Unpacked bytes for each compressed byte; what unpacks to less than 64 MiB is not looked at. */
    maxExpansion?: number;
  };
  connections?: {
    /** Most connections to the platform API at once. Default: a tenth of the files that the process may have open, at most 10 000. */
    api?: number;
    /** Most connections to the gateway at once. Default: three tenths, at most 50 000. */
    gateway?: number;
    /** Most connections to the operator port at once. Default: a hundredth, at most 64. */
    operator?: number;
    /** Most connections from one address to one listener; with IPv6, from one /64 network. A proxy in front is one address. Default: half of the listener's. */
    perAddress?: number;
    /** How long a connection that showed no valid key, or reached no sandbox, may be unused, ms. Default 5 000. */
    strangerIdleMs?: number;
  };
  logs?: {
    /** Most bytes of log kept for one sandbox; the oldest go first. */
    maxBytesPerSandbox?: number;
    /** How long log lines are kept, ms. */
    retentionMs?: number;
  };
  metrics?: {
    /** Between two samples of each sandbox, ms. */
    sampleMs?: number;
    /** How long samples are kept, ms: every one for an hour, one a minute for a day, then one in ten minutes. */
    retentionMs?: number;
  };
  events?: {
    /** How long events are kept, ms. */
    retentionMs?: number;
  };
  webhooks?: {
    /** Whether deliveries may go to loopback and private addresses. */
    allowPrivateAddresses?: boolean;
    /** Waiting times before the second and later attempts, ms. */
    retryDelaysMs?: number[];
    /** How long one attempt may take, ms. */
    timeoutMs?: number;
  };
  identity?: {
    /** Age at which the key that signs identity tokens gets a successor, ms. Default 30 days. */
    rotateAfterMs?: number;
    /** How long a key is published before it signs, and after its successor took over, ms. Default one day. */
    overlapMs?: number;
  };
  idempotency?: {
    /** How long the answer under an idempotency key is kept, ms. */
    retentionMs?: number;
  };
  /** How often the trash of deleted volumes and builds is emptied, ms. Default one minute. */
  cleanUpIntervalMs?: number;
  /** Least time to live after an automatic resume. */
  minAutoResumeSeconds?: number;
  /** Template builds of this server that run at once. */
  maxConcurrentBuilds?: number;
  builds?: {
    /** How long one build may take, ms. */
    timeoutMs?: number;
    /** Between two tries of a ready command, ms. */
    readyIntervalMs?: number;
    /** How long a ready command is tried, ms. */
    readyTimeoutMs?: number;
    /** How long a start command without a ready command is waited for, ms. */
    startWaitMs?: number;
    /** Directories, absolute, from which builds may take images that lie on this machine. */
    imageDirectories?: string[];
    /** Whether images may come from registries on this machine and on private networks. Default false. */
    allowPrivateRegistries?: boolean;
  };
}

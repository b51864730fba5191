import { baseRoots, DEFAULT_ARCHIVE_LIMITS, type Driver, isolations } from '@svc/runtime/contract';
import { type DriverName, driverNames } from '@svc/runtime/host';
import { type SamplerName, samplers } from './samplers.js';
import {
  idPool,
  milliseconds,
  oneOf,
  port,
  portOrOff,
  ranges,
  rateLimit,
  ratio,
  type Settings,
  text,
  textByName,
  texts,
  toggle,
  webAddress,
  whole,
  wordByName,
} from './setting.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 1_440 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
const MIB = 1_048_576;
const count = whole(1);
const countOrNone = whole(0);

/** Default of `poolSize` with the `linux` driver. */
export const LINUX_POOL_SIZE = 4;

/**
 * Every setting of the server, once: the types of options, the checks of the configuration file, environment variables, flags,
 * defaults and `docs/settings.md` all come from here. A default that is no plain value is in the docstring.
 */
export const settings = {
  /**
   * The server's own directory; made with mode 0700, for one server at a time. Programs have to name it.
   * Default: `/var/lib/svc` for root, else `~/.local/state/svc`.
   */
  dataDir: text({ variable: 'SVC_DATA_DIR', flag: '--data-dir' }),
  /** Address that API, gateway and operator port listen on. Default `127.0.0.1`. */
  host: text({ default: '127.0.0.1', variable: 'SVC_HOST', flag: '--host' }),
  /** Port of the platform API; 0 takes any. Default 3000. */
  apiPort: port({ default: 3_000, variable: 'SVC_API_PORT', flag: '--port' }),
  /** Port of the gateway; 0 takes any. Default 3002. */
  sandboxPort: port({ default: 3_002, variable: 'SVC_SANDBOX_PORT', flag: '--sandbox-port' }),
  /** Port of `/metrics`, `/status` and the operations on teams; 0 takes any, false opens none. Default 3003. */
  operatorPort: portOrOff({ default: 3_003, variable: 'SVC_OPERATOR_PORT', flag: '--operator-port' }),
  /**
   * Credential of the operations on the operator port: teams, limits, keys. At least 32 characters. Default: generated once and
   * stored in `operator-token` in the data directory.
   */
  operatorToken: text({ variable: 'SVC_OPERATOR_TOKEN' }),
  /** Certificate of API and gateway for clients that connect by TLS. Without it they speak plain HTTP. */
  tls: {
    /**
     * PEM file of the certificate chain: the server's own first, then those that signed it. A replacement is loaded within ten
     * seconds, or at SIGHUP by `svc-server`. Default none.
     */
    certificate: text({ variable: 'SVC_TLS_CERTIFICATE' }),
    /** PEM file of its key, without a passphrase; readable by the server's user, and not by all users. Default none. */
    key: text({ variable: 'SVC_TLS_KEY' }),
  },
  /** Base URL of the API as clients reach it. Default from host and port. */
  publicApiUrl: text({ variable: 'SVC_PUBLIC_API_URL', flag: '--public-api-url' }),
  /**
   * URL that identity tokens name as their issuer: `/.well-known/openid-configuration` below it must reach this API.
   * Default: the public URL of the API.
   */
  issuer: text({ variable: 'SVC_ISSUER' }),
  /** Base URL of the gateway as clients reach it. Default from host and port. */
  publicSandboxUrl: text({ variable: 'SVC_PUBLIC_SANDBOX_URL', flag: '--public-sandbox-url' }),
  /** Base URL of this server's API as other servers on the same PostgreSQL reach it. Default from host and port. */
  nodeApiUrl: text({ variable: 'SVC_NODE_API_URL' }),
  /** Base URL of this server's gateway as other servers on the same PostgreSQL reach it. Default from host and port. */
  nodeSandboxUrl: text({ variable: 'SVC_NODE_SANDBOX_URL' }),
  /** Ports of sandboxes are reached as `<port>-<sandboxID>.<domain>`. Default `svc.localhost`. */
  domain: text({ default: 'svc.localhost', variable: 'SVC_SERVER_DOMAIN', flag: '--domain' }),
  /** Further brands whose routing headers the gateway understands, for example `['Acme-']`. Default none. */
  headerPrefixes: texts({ variable: 'SVC_HEADER_PREFIXES' }),
  /** `linux`, `process` (no isolation), `incus`, or a driver of your own, which you close yourself. Default: `linux`. */
  driver: oneOf<DriverName | Driver>(driverNames)({ variable: 'SVC_DRIVER', flag: '--driver' }),
  /** User of the server process when root starts it with the `linux` driver. Default `svc`, created where it is missing. */
  user: text({ variable: 'SVC_USER', flag: '--user' }),
  /**
   * Socket of a `svc-runtime` that runs in a unit of its own. The server process then needs no rights of
   * root from the beginning. Default: root starts `svc-runtime` with the server.
   */
  runtimeSocket: text({ variable: 'SVC_RUNTIME_SOCKET' }),
  /** Runtime of the `linux` driver: `runc`, `crun`, `runsc`, `kata` or a path. Default: `runc`, with `crun` for starts where it is installed. */
  ociRuntime: text({ variable: 'SVC_OCI_RUNTIME', flag: '--oci-runtime' }),
  /**
   * Root file system of the template `base` with the `linux` driver: `debian`, which is built once, or
   * `host`, the host's `/usr`, which needs no download. The template `host` always has the latter. Default `debian`.
   */
  baseRoot: oneOf(baseRoots)({ variable: 'SVC_BASE_ROOT', flag: '--base-root' }),
  /**
   * Isolation of sandboxes from the host's kernel with the `linux` driver: `container`, namespaces on that kernel, or `gvisor`, a
   * kernel of their own that runs as a program. Existing sandboxes keep theirs. Default `container`.
   */
  isolation: oneOf(isolations)({ variable: 'SVC_ISOLATION', flag: '--isolation' }),
  /**
   * Isolation of the sandboxes of some templates instead, by id of the template, or by name for `base` and `host`:
   * `{ base: 'gvisor' }`. Their builds use it too. A snapshot with memory keeps the isolation that it was taken with. Default none.
   */
  templateIsolation: wordByName(isolations)({ variable: 'SVC_TEMPLATE_ISOLATION' }),
  /** Starts a sandbox before the server accepts requests, to verify the host. Default false; `svc server up` does it. */
  trialStart: toggle({ default: false, variable: 'SVC_TRIAL_START', flag: '--no-trial-start' }),
  /** Connection of the `incus` driver to its Incus server or cluster. */
  incus: {
    /**
     * Path of a unix socket, or `https://host:8443`; for a cluster several members, separated by commas, of which the first that
     * answers is used. Default: the trial cluster of `svc cluster up` if it runs, else `/var/lib/incus/unix.socket`.
     */
    address: text({ variable: 'SVC_INCUS_ADDRESS' }),
    /** Incus project that belongs to this service; made where it is missing. Default `svc`. */
    project: text({ variable: 'SVC_INCUS_PROJECT' }),
    /** PEM file of the client certificate that Incus trusts, for `https`. Default none. */
    certificateFile: text({ variable: 'SVC_INCUS_CERTIFICATE' }),
    /** PEM file of its key. Default none. */
    keyFile: text({ variable: 'SVC_INCUS_KEY' }),
    /** PEM file of the certificate of the server or cluster (`incus info` shows it). Default none. */
    serverCertificateFile: text({ variable: 'SVC_INCUS_SERVER_CERTIFICATE' }),
    /** Storage pool for root file systems. Default: `user.svc.pool` of the project, else the only pool. */
    pool: text({ variable: 'SVC_INCUS_POOL' }),
    /** Interface of every member through which sandboxes are reached. Default: `user.svc.parent` of the project. */
    parent: text({ variable: 'SVC_INCUS_PARENT' }),
    /** Range of IPv4 addresses for sandboxes alone, such as `10.20.16.0/20`. Default: `user.svc.range` of the project. */
    range: text({ variable: 'SVC_INCUS_RANGE' }),
    /** Name servers in sandboxes. Default `1.1.1.1` and `8.8.8.8`. */
    nameServers: texts({ variable: 'SVC_INCUS_NAME_SERVERS' }),
    /**
     * Declares that every member has the fence (`fence.nft`), so that sandboxes can be kept from the network. It is tested from inside before
     * it is relied upon. Default: `user.svc.fence` of the project.
     */
    fence: toggle({ variable: 'SVC_INCUS_FENCE' }),
  },
  /** The database. */
  storage: {
    /** Kind of database: `sqlite`, or `postgres`, which needs `storage.url`. */
    kind: oneOf(['sqlite', 'postgres'] as const)({ default: 'sqlite' }),
    /** File of the SQLite database. Default `<dataDir>/server.db`. */
    file: text(),
    /** Address of the PostgreSQL database, `postgres://user:password@host/name`. Default none. */
    url: text({ variable: 'SVC_POSTGRES_URL', flag: '--postgres-url' }),
    /** Schema of the PostgreSQL database for the tables. Default `public`. */
    schema: text(),
    /** Most connections to PostgreSQL. Default 10. */
    poolSize: count(),
  },
  /** Name of this server among those that share a database. Default: generated once and stored in the data directory. */
  nodeId: text({ variable: 'SVC_NODE_ID' }),
  /** Key for data that is stored encrypted, 64 hex digits. Default: generated once and stored in the data directory. */
  serverKey: text({ variable: 'SVC_SERVER_KEY' }),
  /**
   * Key that the drivers of several hosts share for copies between them, 64 hex digits. For the process of root alone, where
   * there is one. Default: without such a process derived from the server key, else none, and nothing is copied.
   */
  transferKey: text({ variable: 'SVC_TRANSFER_KEY' }),
  /** Limits of teams whose record sets none. */
  teamLimits: {
    /** Longest time to live of a sandbox. */
    maxTimeToLiveSeconds: count({ default: 86_400 }),
    /** Sandboxes that run at once. */
    maxConcurrentSandboxes: countOrNone({
      default: 500,
      variable: 'SVC_TEAM_MAX_SANDBOXES',
      flag: '--team-max-sandboxes',
    }),
    /** Template builds that run at once. */
    maxConcurrentBuilds: countOrNone({ default: 20 }),
    /** Most processor cores of one sandbox. */
    maxCpuCount: count({ default: 8 }),
    /** Most memory of one sandbox. */
    maxMemoryMiB: count({ default: 8_192 }),
    /** Most memory of all sandboxes that run at once. Default: no limit. */
    maxTotalMemoryMiB: countOrNone(),
    /** Most of the disk: volumes, snapshots, paused sandboxes, layers and uploads of builds. */
    maxStorageMiB: countOrNone({ default: 102_400 }),
    /** Largest size of one volume. */
    maxVolumeMiB: count({ default: 10_240 }),
    /** Most that all sandboxes send to the outside in a month of the calendar, UTC. Default: no limit. */
    maxEgressMonthMiB: countOrNone(),
    /** Most secrets. */
    maxSecrets: countOrNone({ default: 50 }),
    /** Most webhooks. */
    maxWebhooks: countOrNone({ default: 10 }),
  },
  /** Requests per second (`rate`) and at once (`burst`), for each team. A rate of 0 disables the limit. */
  rateLimits: {
    /** All other requests. */
    general: rateLimit({
      default: { rate: 1_000, burst: 5_000 },
      variable: 'SVC_RATE_LIMIT',
      flag: '--rate-limit',
    }),
    /** Requests that create sandboxes. */
    create: rateLimit({
      default: { rate: 100, burst: 1_000 },
      variable: 'SVC_CREATE_RATE_LIMIT',
      flag: '--create-rate-limit',
    }),
    /** Requests that redeliver an event to a webhook. */
    redeliver: rateLimit({ default: { rate: 10, burst: 100 } }),
  },
  /** Sandboxes that run at once, all teams together. Default 1000. */
  maxSandboxes: count({ default: 1_000, variable: 'SVC_MAX_SANDBOXES', flag: '--max-sandboxes' }),
  /** Memory that all sandboxes together may use. Default: the host's minus a tenth, of at least 256 and at most 2048. */
  maxMemoryMiB: count({ variable: 'SVC_MAX_MEMORY_MIB' }),
  /** Space that stays free on the disk of the data directory, for the database and the host. Default: 5 % of it, at most 2048. */
  diskReserveMiB: countOrNone({ variable: 'SVC_DISK_RESERVE_MIB' }),
  /**
   * User and group ids of the host that sandboxes get with the `linux` driver: `{ first: 600000000, count: 67108864 }`, in a variable
   * `600000000:67108864`. Each needs 65,536; there must be enough for all that run at once and wait in the pool, or for 1,024. No
   * other program may use them: from 65536 to 2147483647, outside `/etc/subuid` and `/etc/subgid`. Running sandboxes keep theirs. Default:
   * the first free 67,108,864 from 536870912 on.
   */
  userIds: idPool({ variable: 'SVC_USER_IDS' }),
  /** Connections that leave sandboxes. */
  egress: {
    /** Resolvers for the names that sandboxes look up: addresses, with `:port` where it is not 53. Default: those of the host. */
    dns: texts(),
    /**
     * Private addresses and CIDR ranges that sandboxes with a policy may reach nevertheless, such as a mirror in your network. Default
     * none.
     */
    allowRanges: ranges(),
    /**
     * Variables of the server's environment that secrets with the value `env:NAME` resolve to. Every team may use them, and so
     * learn their values. Default none: such a value is literal.
     */
    secretVariables: texts(),
    /** Absolute directories with files that secrets with the value `file:/path` resolve to; as with variables. Default none. */
    secretDirectories: texts(),
    /** PEM file of authorities to trust, beside the well-known ones, for servers whose requests get headers. Default none. */
    trustedRoots: text(),
  },
  /** Spans of the server's work, sent to an OpenTelemetry collector: see `docs/opentelemetry.md`. */
  tracing: {
    /** Base URL of the collector's OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added. Default none: no spans are made. */
    endpoint: webAddress({ variable: 'OTEL_EXPORTER_OTLP_ENDPOINT' }),
    /** Headers of each request to the collector, such as its key. Never logged. Default none. */
    headers: textByName({ variable: 'OTEL_EXPORTER_OTLP_HEADERS' }),
    /** Encoding of spans. */
    protocol: oneOf(['http/protobuf', 'http/json'] as const)({
      default: 'http/protobuf',
      variable: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    }),
    /** Name of the service in its spans. */
    serviceName: text({ default: 'svc', variable: 'OTEL_SERVICE_NAME' }),
    /**
     * Sampler that chooses the recorded requests. Those that begin with `parentbased_` trust the `traceparent` of every caller, who then also
     * decides; the others decide by themselves, begin a trace of their own and link the caller's.
     */
    sampler: oneOf<SamplerName>(samplers)({ default: 'traceidratio', variable: 'OTEL_TRACES_SAMPLER' }),
    /** The part of traces that the `traceidratio` samplers record, 0 to 1. */
    ratio: ratio({ default: 1, variable: 'OTEL_TRACES_SAMPLER_ARG' }),
  },
  /** Sandboxes of `base` kept booted and waiting. Default 4 with the `linux` driver, 0 otherwise. */
  poolSize: countOrNone({ variable: 'SVC_POOL_SIZE', flag: '--pool-size' }),
  /**
   * Memory that all waiting sandboxes may use, when more of a template were requested at once lately than waited. Templates whose
   * memory is stored start from that, and none of them waits. Default: a sixteenth of the host's, 0 where `poolSize` is 0; 0 limits the pool to
   * `poolSize`.
   */
  poolMemoryMiB: countOrNone({ variable: 'SVC_POOL_MEMORY_MIB', flag: '--pool-memory' }),
  /** Sizes of the template `base`, at the first start. */
  base: {
    /** Processor cores. Default 2. */
    cpuCount: count({ default: 2 }),
    /** Memory. Default 1024. */
    memoryMiB: count({ default: 1_024 }),
    /** Disk. Default 10240. */
    diskMiB: count({ default: 10_240 }),
  },
  /**
   * Lowest level of log lines that are written: `silent`, `error`, `warn`, `info`, `debug` or `trace`. Default `info`;
   * `svc server up` in the foreground: `error`.
   */
  logLevel: oneOf(['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const)({
    default: 'info',
    variable: 'SVC_LOG_LEVEL',
    flag: '--log-level',
  }),
  /** Checks every answer against the OpenAPI document. For tests. Default false. */
  validateResponses: toggle({ default: false }),
  /** Ends the sandboxes when the server stops; else they continue and the next start takes them over. Default false. */
  destroySandboxesOnStop: toggle({ default: false, flag: '--kill-sandboxes-on-stop' }),
  /** Longest wait of `stop` for requests under way, to the API and into sandboxes, ms. Default 10 000. */
  drainMs: countOrNone({ default: 10_000 }),
  /** Interval of checks for expired sandboxes, ms. Default 100; 0 leaves it to the caller (`server.expireDue()`). */
  expiryIntervalMs: countOrNone({ default: 100 }),
  /** Further settings, each with a default: see `docs/settings.md`. */
  tuning: {
    /** Time limit for the start of a sandbox, ms. */
    placementTimeoutMs: count({ default: MINUTE_MS }),
    /** Time limit for one API request, ms; streams have none. */
    requestTimeoutMs: count({ default: 70 * SECOND_MS }),
    /** Largest JSON body of an API request. */
    bodyLimitBytes: count({ default: 16 * MIB }),
    /** Largest archive of build files. */
    uploadLimitBytes: count({ default: 4_096 * MIB }),
    /** Limits of an archive: build files, and the layers of an image taken together. */
    archives: {
      /** Entries in an archive of build files, or in an image. */
      maxEntries: count({ default: DEFAULT_ARCHIVE_LIMITS.maxEntries }),
      /** Bytes of one name, and of the target of one link. */
      maxNameBytes: count({ default: DEFAULT_ARCHIVE_LIMITS.maxNameBytes }),
      /** Bytes of all names together. */
      maxNamesBytes: count({ default: DEFAULT_ARCHIVE_LIMITS.maxNamesBytes }),
      /** Names in one path. */
      maxDepth: count({ default: DEFAULT_ARCHIVE_LIMITS.maxDepth }),
      /** Bytes of the extension headers of one entry. */
      maxHeaderBytes: count({ default: DEFAULT_ARCHIVE_LIMITS.maxHeaderBytes }),
      /** Bytes of build files or of an image when they are unpacked. */
      maxBytes: count({ default: DEFAULT_ARCHIVE_LIMITS.maxBytes }),
      /** Unpacked bytes for each compressed byte; archives that unpack to less than 64 MiB are not checked. */
      maxExpansion: count({ default: DEFAULT_ARCHIVE_LIMITS.maxExpansion }),
    },
    connections: {
      /** Most connections to the platform API at once. Default: a tenth of the files that the process may have open, at most 10 000. */
      api: count(),
      /** Most connections to the gateway at once. Default: three tenths, at most 50 000. */
      gateway: count(),
      /** Most connections to the operator port at once. Default: a hundredth, at most 64. */
      operator: count(),
      /** Most connections from one address to one listener; with IPv6, from one /64 network. A proxy in front is one address. Default: half of the listener's. */
      perAddress: count(),
      /** Longest idle time of a connection without a valid key, or without a sandbox, ms. */
      strangerIdleMs: count({ default: 5_000 }),
    },
    logs: {
      /** Most bytes of log kept for one sandbox; the oldest go first. */
      maxBytesPerSandbox: countOrNone({ default: 10 * MIB }),
      /** Retention of log lines, ms. */
      retentionMs: countOrNone({ default: WEEK_MS }),
    },
    metrics: {
      /** Interval between two samples of each sandbox, ms. */
      sampleMs: count({ default: 5 * SECOND_MS }),
      /** Retention of samples, ms: every one for an hour, one a minute for a day, then one in ten minutes. */
      retentionMs: countOrNone({ default: WEEK_MS }),
    },
    events: {
      /** Retention of events, ms. */
      retentionMs: countOrNone({ default: WEEK_MS }),
    },
    webhooks: {
      /** Allows deliveries to loopback and private addresses. */
      allowPrivateAddresses: toggle({ default: false, flag: '--allow-private-webhooks' }),
      /** Waiting times before the second and later attempts, ms. */
      retryDelaysMs: milliseconds({ default: [10_000, 10_000, 10_000] }),
      /** Time limit for one attempt, ms. */
      timeoutMs: count({ default: 10 * SECOND_MS }),
    },
    identity: {
      /** Age at which the key that signs identity tokens gets a successor, ms. */
      rotateAfterMs: count({ default: 30 * DAY_MS }),
      /** Time for which a key is published before it signs, and after its successor took over, ms. */
      overlapMs: countOrNone({ default: DAY_MS }),
    },
    audit: {
      /** Retention of entries of the audit trail, ms: 90 days. */
      retentionMs: countOrNone({ default: 90 * DAY_MS }),
    },
    usage: {
      /** Retention of the hourly use of teams, ms: 400 days. */
      retentionMs: countOrNone({ default: 400 * DAY_MS }),
    },
    idempotency: {
      /** Retention of answers under idempotency keys, ms. */
      retentionMs: countOrNone({ default: DAY_MS }),
    },
    /** Interval at which the trash of deleted volumes and builds is emptied, ms. */
    cleanUpIntervalMs: count({ default: MINUTE_MS }),
    /** Least time to live after an automatic resume. */
    minAutoResumeSeconds: countOrNone({ default: 300 }),
    /** Template builds of this server that run at once. */
    maxConcurrentBuilds: count({ default: 2 }),
    builds: {
      /** Time limit for one build, ms. */
      timeoutMs: count({ default: 60 * MINUTE_MS }),
      /** Interval between two tries of a ready command, ms. */
      readyIntervalMs: count({ default: 2 * SECOND_MS }),
      /** Time limit for the tries of a ready command, ms. */
      readyTimeoutMs: count({ default: 10 * MINUTE_MS }),
      /** Wait for a start command without a ready command, ms. */
      startWaitMs: countOrNone({ default: 20 * SECOND_MS }),
      /** Absolute directories on this machine from which builds may take images. Default `<dataDir>/images`. */
      imageDirectories: texts(),
      /** Allows images from registries on this machine and on private networks. */
      allowPrivateRegistries: toggle({ default: false }),
    },
  },
} satisfies Settings;

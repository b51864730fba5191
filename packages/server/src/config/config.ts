import type { ArchiveLimits, Isolation } from '@svc/runtime';
import type { RateLimit } from '../limits/rate-limit.js';
import type { TeamLimits } from '../limits/team-limits.js';
import type { StorageOptions } from '../storage/open.js';

/** Settings that use cases read. All of them have values: defaults are applied once, where the server starts. */
export interface ServerConfig {
  /** Absolute path; the server's own directory, mode 0700. */
  dataDir: string;
  storage: StorageOptions;
  /** Name of this server among those that share a database. */
  nodeId: string;
  /** Version of the daemon that sandboxes get. */
  envdVersion: string;
  /** Base URL of the platform API as clients reach it, without a trailing slash. */
  apiUrl: string;
  /** Base URL that identity tokens name as their issuer. Undefined: `apiUrl`. */
  issuer: string | undefined;
  /** Age at which a signing key gets a successor, and how long both are published around that, ms. */
  identity: { rotateAfterMs: number; overlapMs: number };
  /** Base URL of the gateway as clients reach it. */
  sandboxUrl: string;
  /** `<port>-<sandboxID>.<domain>` is how ports of sandboxes are reached by host name. */
  domain: string;
  /** Whether sandboxes answer with `domain`, because it is not the one that clients assume. */
  announceDomain: boolean;
  /** What teams may use unless their record says otherwise. */
  teamLimits: TeamLimits;
  /** Buckets by route group: `general`, `create`. A rate of 0 switches one off. */
  rateLimits: { general: RateLimit; create: RateLimit };
  /** Sandboxes that this server runs at once, all teams together. */
  maxSandboxes: number;
  /** What stays free on the disk of the data directory. Undefined: a part of it. */
  diskReserveMiB: number | undefined;
  /** Time for one placement, ms. */
  placementTimeoutMs: number;
  /** By id of the template, or name of a system template. */
  templateIsolation: Readonly<Record<string, Isolation>>;
  /** How long one request may take, ms. */
  requestTimeoutMs: number;
  /** Largest JSON body, bytes. */
  bodyLimitBytes: number;
  /** Largest archive of build files, bytes. */
  uploadLimitBytes: number;
  /** What an archive may hold: build files, and the layers of an image taken together. */
  archives: ArchiveLimits;
  logs: {
    /** Most bytes of log kept for one sandbox; the oldest go first. */
    maxBytesPerSandbox: number;
    retentionMs: number;
  };
  metrics: { sampleMs: number; retentionMs: number };
  events: { retentionMs: number };
  webhooks: {
    /** Whether deliveries may go to loopback and private addresses. */
    allowPrivateAddresses: boolean;
    /** Waiting times before the second and later attempts, ms. */
    retryDelaysMs: number[];
    timeoutMs: number;
  };
  egress: {
    /** Resolvers that names of sandboxes are looked up at. Undefined: the host's. */
    dns: string[] | undefined;
    /** Where secrets may take their values from. */
    providers: { variables: string[]; directories: string[] };
    /** Private ranges that sandboxes may reach all the same. */
    allowRanges: string[];
    /** PEM file of authorities that are trusted upstream beside the well-known ones. */
    trustedRoots: string | undefined;
  };
  idempotency: { retentionMs: number };
  /** How often what could not be removed before is tried again, ms. */
  cleanUpIntervalMs: number;
  /** Least time to live after an automatic resume, s. */
  minAutoResumeSeconds: number;
  /** Template builds of this server that run at once. */
  maxConcurrentBuilds: number;
  builds: {
    /** How long one build may take, ms. */
    timeoutMs: number;
    /** Between two tries of a ready command, ms. */
    readyIntervalMs: number;
    /** How long a ready command is tried, ms. */
    readyTimeoutMs: number;
    /** How long a start command without a ready command is waited for, ms. */
    startWaitMs: number;
    /** Directories, absolute, from which builds may take images that lie on this machine. */
    imageDirectories: string[];
    /** Whether images may come from registries on this machine and on private networks. */
    allowPrivateRegistries: boolean;
  };
}

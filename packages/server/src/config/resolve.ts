import path from 'node:path';
import { defaultTeamLimits } from '../limits/team-limits.js';
import type { ServerConfig } from './config.js';
import type { ServerOptions } from './options.js';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
export const DEFAULT_DOMAIN = 'svc.localhost';
export const DEFAULT_MAX_SANDBOXES = 1_000;
/** Of the `linux` driver. */
export const DEFAULT_POOL_SIZE = 4;

/** Applies every default. URLs are known only once the ports are. */
export function resolveConfig(
  options: ServerOptions,
  found: { nodeId: string; envdVersion: string; apiUrl: string; sandboxUrl: string },
): ServerConfig {
  const tuning = options.tuning ?? {};
  const domain = options.domain ?? DEFAULT_DOMAIN;
  return {
    dataDir: options.dataDir,
    storage: options.storage ?? { kind: 'sqlite' },
    nodeId: found.nodeId,
    envdVersion: found.envdVersion,
    apiUrl: options.publicApiUrl ?? found.apiUrl,
    issuer: options.issuer?.replace(/\/+$/, ''),
    identity: { rotateAfterMs: 30 * DAY_MS, overlapMs: DAY_MS, ...tuning.identity },
    sandboxUrl: options.publicSandboxUrl ?? found.sandboxUrl,
    domain,
    announceDomain: options.domain !== undefined,
    teamLimits: { ...defaultTeamLimits, ...options.teamLimits },
    rateLimits: {
      general: options.rateLimits?.general ?? { rate: 1_000, burst: 5_000 },
      create: options.rateLimits?.create ?? { rate: 100, burst: 1_000 },
    },
    maxSandboxes: options.maxSandboxes ?? DEFAULT_MAX_SANDBOXES,
    diskReserveMiB: options.diskReserveMiB,
    templateIsolation: { ...options.templateIsolation },
    placementTimeoutMs: tuning.placementTimeoutMs ?? 60_000,
    requestTimeoutMs: tuning.requestTimeoutMs ?? 70_000,
    bodyLimitBytes: tuning.bodyLimitBytes ?? 16 * 1_048_576,
    uploadLimitBytes: tuning.uploadLimitBytes ?? 4 * 1_073_741_824,
    archives: {
      maxEntries: 1_000_000,
      maxNameBytes: 4_096,
      maxNamesBytes: 128 * 1_048_576,
      maxDepth: 256,
      maxHeaderBytes: 1_048_576,
      maxBytes: 32 * 1_073_741_824,
      maxExpansion: 200,
      ...tuning.archives,
    },
    logs: { maxBytesPerSandbox: 10 * 1_048_576, retentionMs: WEEK_MS, ...tuning.logs },
    metrics: { sampleMs: 5_000, retentionMs: WEEK_MS, ...tuning.metrics },
    events: { retentionMs: WEEK_MS, ...tuning.events },
    webhooks: {
      allowPrivateAddresses: false,
      retryDelaysMs: [10_000, 10_000, 10_000],
      timeoutMs: 10_000,
      ...tuning.webhooks,
    },
    egress: {
      dns: options.egress?.dns,
      providers: {
        variables: options.egress?.secretVariables ?? [],
        directories: options.egress?.secretDirectories ?? [],
      },
      allowRanges: options.egress?.allowRanges ?? [],
      trustedRoots: options.egress?.trustedRoots,
    },
    idempotency: { retentionMs: DAY_MS, ...tuning.idempotency },
    cleanUpIntervalMs: tuning.cleanUpIntervalMs ?? 60_000,
    minAutoResumeSeconds: tuning.minAutoResumeSeconds ?? 300,
    maxConcurrentBuilds: tuning.maxConcurrentBuilds ?? 2,
    builds: {
      timeoutMs: 3_600_000,
      readyIntervalMs: 2_000,
      readyTimeoutMs: 600_000,
      startWaitMs: 20_000,
      allowPrivateRegistries: false,
      imageDirectories: [path.join(options.dataDir, 'images')],
      ...tuning.builds,
    },
  };
}

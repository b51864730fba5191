import type { ServerOptions } from 'node:http';
import type { GatewayConfig } from './contract.js';
import { hostName, type TargetOptions } from './host.js';

/** The configuration with its defaults, and what follows from it. */
export interface GatewaySettings extends Required<GatewayConfig> {
  target: TargetOptions;
  /** Names of the header that opens private ports; messages name the first one. */
  trafficTokenNames: readonly string[];
  /** Lower-case names of headers that must not reach the sandbox. */
  secretNames: ReadonlySet<string>;
}

export function resolveSettings(config: GatewayConfig = {}): GatewaySettings {
  const { sandboxHosts = [], headerPrefixes = [] } = config;
  const prefixes = ['Svc-', ...headerPrefixes];
  const names = prefixes.map((prefix) => `${prefix}Traffic-Access-Token`);
  const secretNames = new Set(names.map((name) => name.toLowerCase()));
  return {
    tls: false,
    daemonPort: 49_983,
    connectionLimitPerSandbox: 1000,
    dialBudgetMs: 1000,
    dialTimeoutMs: 30_000,
    transitionWaitMs: 60_000,
    silenceMs: 10_000,
    healthMs: 10_000,
    daemonIdleMs: 620_000,
    serviceIdleMs: 4000,
    drainMs: 30_000,
    ...config,
    sandboxHosts,
    headerPrefixes,
    target: {
      sandboxHosts: sandboxHosts.map(hostName),
      headerPrefixes: prefixes.map((prefix) => prefix.toLowerCase()),
    },
    trafficTokenNames: [names[0] ?? '', ...secretNames],
    secretNames,
  };
}

/**
 * Options for the HTTP server in front of the gateway: bodies may stream for as long as they like, headers may not,
 * and an unused client connection outlives one to a sandbox (620 s).
 */
export const gatewayServerOptions = {
  requestTimeout: 0,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  keepAliveTimeout: 630_000,
  noDelay: true,
  maxHeaderSize: 64 * 1024,
  insecureHTTPParser: false,
} satisfies ServerOptions;

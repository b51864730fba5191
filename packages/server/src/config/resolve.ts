import path from 'node:path';
import type { ServerConfig } from './config.js';
import type { ServerOptions } from './options.js';
import { settings } from './settings.js';
import { withDefaults } from './walk.js';

/** Applies every default. URLs are known only once the ports are. */
export function resolveConfig(
  options: ServerOptions,
  found: { nodeId: string; envdVersion: string; apiUrl: string; sandboxUrl: string },
): ServerConfig {
  const { tuning, ...all } = withDefaults(settings, options);
  const { connections: _, ...tuned } = tuning;
  const { dns, trustedRoots, secretVariables, secretDirectories, allowRanges } = all.egress;
  return {
    ...tuned,
    dataDir: options.dataDir,
    storage: options.storage ?? { kind: 'sqlite' },
    nodeId: found.nodeId,
    envdVersion: found.envdVersion,
    apiUrl: options.publicApiUrl ?? found.apiUrl,
    issuer: options.issuer?.replace(/\/+$/, ''),
    sandboxUrl: options.publicSandboxUrl ?? found.sandboxUrl,
    domain: all.domain,
    announceDomain: options.domain !== undefined,
    teamLimits: all.teamLimits,
    rateLimits: all.rateLimits,
    maxSandboxes: all.maxSandboxes,
    diskReserveMiB: all.diskReserveMiB,
    templateIsolation: { ...all.templateIsolation },
    egress: {
      dns,
      providers: { variables: secretVariables ?? [], directories: secretDirectories ?? [] },
      allowRanges: allowRanges ?? [],
      trustedRoots,
    },
    builds: {
      ...tuned.builds,
      imageDirectories: tuned.builds.imageDirectories ?? [path.join(options.dataDir, 'images')],
    },
  };
}

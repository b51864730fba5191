import type { components } from '@svc/platform';

export type NetworkConfig = components['schemas']['SandboxNetworkConfig'];

export interface MountConfig {
  name: string;
  path: string;
  volumeId: string;
}

/** What a sandbox was asked to be; stored as JSON, without anything secret. */
export interface SandboxConfig {
  /** As given, lower-cased where hosts are keys; without the proxy's password. */
  network?: NetworkConfig;
  allowInternetAccess: boolean | null;
  autoPause: boolean;
  autoPauseMemory: boolean;
  autoResume: boolean;
  mounts: MountConfig[];
  iam?: components['schemas']['SandboxIam'];
  mcp?: Record<string, unknown>;
  /** From the template, for boots without memory. */
  defaultUser: string | null;
  defaultWorkdir: string | null;
  startCommand: string | null;
  layers: string[];
}

/** What is stored sealed. */
export interface SandboxSecrets {
  envVars?: Record<string, string>;
  egressProxyPassword?: string;
}

const cache = new WeakMap<object, SandboxConfig>();

/** The configuration of a row, parsed once per row object. */
export function configOf(row: { config: string }): SandboxConfig {
  let parsed = cache.get(row);
  if (parsed === undefined) {
    parsed = JSON.parse(row.config) as SandboxConfig;
    cache.set(row, parsed);
  }
  return parsed;
}

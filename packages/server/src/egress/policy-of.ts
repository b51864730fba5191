import {
  DENY_ALL,
  type EgressPolicy,
  egressMode,
  PolicyError,
  policyFromSettings,
  readSettings,
} from '@svc/egress/policy';
import type { Capabilities, InstanceNetwork } from '@svc/runtime';
import { errors } from '../errors/catalog.js';
import type { NetworkConfig, SandboxConfig, SandboxSecrets } from '../storage/json-shapes.js';

/** Of settings that cannot be read: a sandbox that nobody can say the limits of sends nothing. */
const NOTHING: EgressPolicy = { allowOut: [], denyOut: [DENY_ALL], rules: {} };

const read = new WeakMap<NetworkConfig, { settings: NetworkConfig } | { problem: string }>();

/** Reads stored settings, once for each object. An earlier version may have stored what is not valid any more. */
function readStored(network: NetworkConfig): { settings: NetworkConfig } | { problem: string } {
  const known = read.get(network);
  if (known !== undefined) return known;
  let found: { settings: NetworkConfig } | { problem: string };
  try {
    found = { settings: readSettings(network) };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    found = { problem: `network.${error.message}` };
  }
  read.set(network, found);
  return found;
}

/** Says why the stored settings of a sandbox cannot be read, in which case it sends nothing; undefined when they can. */
export function policyProblem({ network = {} }: Pick<SandboxConfig, 'network'>): string | undefined {
  const stored = readStored(network);
  return 'problem' in stored ? stored.problem : undefined;
}

/** The policy that the settings of a sandbox mean. `allow_internet_access: false` denies all but what is allowed. */
export function policyOf(
  { network = {}, allowInternetAccess }: Pick<SandboxConfig, 'network' | 'allowInternetAccess'>,
  secrets: Pick<SandboxSecrets, 'egressProxyPassword'> = {},
): EgressPolicy {
  const stored = readStored(network);
  if ('problem' in stored) return NOTHING;
  const policy = policyFromSettings(stored.settings, allowInternetAccess);
  const password = secrets.egressProxyPassword;
  if (policy.proxy === undefined || password === undefined) return policy;
  return { ...policy, proxy: { ...policy.proxy, password } };
}

/**
 * What the driver is asked for.
 * @throws {ApiError} 400 naming the setting that the driver cannot enforce.
 */
export function egressOf(
  config: Pick<SandboxConfig, 'network' | 'allowInternetAccess'>,
  capabilities: Capabilities,
): InstanceNetwork['egress'] {
  const policy = policyOf(config);
  const mode = egressMode(policy);
  if (mode === 'governed' && !capabilities.egressPolicy) throw errors.networkNotEnforced(settingOf(policy));
  if (mode === 'none' && !capabilities.networkIsolation)
    throw errors.badRequest(
      'internet access cannot be switched off: the driver of this server does not isolate networks',
    );
  return mode;
}

/** The setting for which connections have to be decided one by one. */
function settingOf({ proxy, rules, allowOut }: EgressPolicy): string {
  if (proxy !== undefined) return 'egressProxy';
  if (Object.keys(rules).length > 0) return 'rules';
  return allowOut.length > 0 ? 'allowOut' : 'denyOut';
}

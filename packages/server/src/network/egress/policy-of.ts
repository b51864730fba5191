import {
  DENY_ALL,
  type EgressPolicy,
  egressMode,
  PolicyError,
  policyFromSettings,
  readEgress,
} from '@svc/network-policy';
import type { Capabilities, InstanceNetwork } from '@svc/runtime/contract';
import { errors } from '../../api/errors/catalog.js';
import type { SandboxConfig, SandboxSecrets } from '../../storage/json-shapes.js';

type Config = Pick<SandboxConfig, 'network' | 'allowInternetAccess'>;

/** The policy for unreadable settings: a sandbox with unknown limits sends nothing. */
const NOTHING: EgressPolicy = { allowOut: [], denyOut: [DENY_ALL], rules: {} };

const known = new WeakMap<Config, { policy: EgressPolicy; problem?: string }>();

/** Reads stored settings, once for each object. An earlier version may have stored what is not valid any more. */
function readStored(config: Config): { policy: EgressPolicy; problem?: string } {
  let stored = known.get(config);
  if (stored === undefined) {
    stored = readNow(config);
    known.set(config, stored);
  }
  return stored;
}

function readNow({ network = {}, allowInternetAccess }: Config): { policy: EgressPolicy; problem?: string } {
  try {
    return { policy: policyFromSettings(readEgress(network), allowInternetAccess) };
  } catch (error) {
    // Unreadable rows cost their own sandbox alone.
    const problem =
      error instanceof PolicyError ? `network.${error.message}` : 'network has an unknown shape';
    return { policy: NOTHING, problem };
  }
}

/** Says why the stored settings of a sandbox cannot be read, in which case it sends nothing; undefined when they can. */
export function policyProblem(config: Config): string | undefined {
  return readStored(config).problem;
}

/**
 * The policy that the settings of a sandbox mean. `allow_internet_access: false` denies all but what is allowed.
 * @returns the same object for the same configuration, unless there is a password
 */
export function policyOf(
  config: Config,
  { egressProxyPassword: password }: Pick<SandboxSecrets, 'egressProxyPassword'> = {},
): EgressPolicy {
  const { policy } = readStored(config);
  if (policy.proxy === undefined || password === undefined) return policy;
  return { ...policy, proxy: { ...policy.proxy, password } };
}

/**
 * Returns the mode to ask the driver for.
 * @throws {ApiError} 400 naming the setting that the driver cannot enforce.
 */
export function egressOf(config: Config, capabilities: Capabilities): InstanceNetwork['egress'] {
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

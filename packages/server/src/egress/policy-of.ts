import { type EgressPolicy, egressMode, policyFromSettings } from '@svc/egress/policy';
import type { Capabilities, InstanceNetwork } from '@svc/runtime';
import { errors } from '../errors/catalog.js';
import type { SandboxConfig, SandboxSecrets } from '../storage/json-shapes.js';

/** The policy that the settings of a sandbox mean. `allow_internet_access: false` denies all but what is allowed. */
export function policyOf(
  { network, allowInternetAccess }: Pick<SandboxConfig, 'network' | 'allowInternetAccess'>,
  secrets: Pick<SandboxSecrets, 'egressProxyPassword'> = {},
): EgressPolicy {
  const policy = policyFromSettings(network ?? {}, allowInternetAccess);
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

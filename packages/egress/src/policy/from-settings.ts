import type { EgressSettings } from './read-settings.js';
import { DENY_ALL, type EgressPolicy } from './types.js';

/**
 * The policy that network settings mean.
 * @param settings as `readSettings` gives them
 * @param allowInternetAccess false denies all but what `allowOut` names, whatever `denyOut` says.
 */
export function policyFromSettings(
  { allowOut = [], denyOut = [], rules = {}, egressProxy }: EgressSettings,
  allowInternetAccess?: boolean | null,
): EgressPolicy {
  return {
    allowOut,
    denyOut: allowInternetAccess === false ? [DENY_ALL] : denyOut,
    rules: Object.fromEntries(
      Object.entries(rules).map(([host, [rule]]) => [host, { headers: rule?.transform?.headers ?? {} }]),
    ),
    ...(egressProxy === undefined || egressProxy === null ? {} : { proxy: egressProxy }),
  };
}

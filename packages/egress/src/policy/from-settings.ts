import type { EgressPolicy, EgressProxy } from './types.js';

/** The outbound part of a sandbox's network settings, as the platform API has it. */
export interface EgressSettings {
  allowOut?: readonly string[] | undefined;
  denyOut?: readonly string[] | undefined;
  rules?:
    | Readonly<
        Record<
          string,
          readonly { transform?: { headers?: Record<string, string> | undefined } | undefined }[]
        >
      >
    | undefined;
  egressProxy?: EgressProxy | null | undefined;
}

/**
 * The policy that network settings mean.
 * @param allowInternetAccess false denies all but what `allowOut` names, whatever `denyOut` says.
 */
export function policyFromSettings(
  { allowOut = [], denyOut = [], rules = {}, egressProxy }: EgressSettings,
  allowInternetAccess?: boolean | null,
): EgressPolicy {
  return {
    allowOut,
    denyOut: allowInternetAccess === false ? ['0.0.0.0/0'] : denyOut,
    rules: Object.fromEntries(
      Object.entries(rules).map(([host, [rule]]) => [
        host.toLowerCase(),
        { headers: rule?.transform?.headers ?? {} },
      ]),
    ),
    ...(egressProxy === undefined || egressProxy === null ? {} : { proxy: egressProxy }),
  };
}

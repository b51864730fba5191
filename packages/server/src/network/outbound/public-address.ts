import { deniedRangeOf, parseAddress } from '@svc/network-policy';

/**
 * Whether an IP address is one of the public internet: what no sandbox may reach, the server does not reach for a user either.
 * IPv4 inside IPv6 is judged as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && deniedRangeOf(parsed) === undefined;
}

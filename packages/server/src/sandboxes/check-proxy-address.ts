import { deniedRangeOf, parseAddress, parseProxyAddress, readRanges } from '@svc/egress/policy';
import { errors } from '../errors/catalog.js';
import { resolveHost } from '../outbound/resolve-host.js';
import type { NetworkConfig } from '../storage/json-shapes.js';

/**
 * Refuses an egress proxy that is no host of the public internet. The egress process looks again when it connects.
 * @param allowRanges private ranges that are allowed all the same.
 * @throws {ApiError} 400
 */
export async function checkProxyAddress(
  { egressProxy }: NetworkConfig,
  allowRanges: readonly string[],
): Promise<void> {
  if (egressProxy === undefined || egressProxy === null) return;
  const { host } = parseProxyAddress(egressProxy.address);
  const found = await resolveHost(host).catch(() => []);
  if (found.length === 0) throw errors.badRequest('network.egressProxy.address: the host has no address');
  const except = readRanges(allowRanges);
  for (const { address } of found) {
    const parsed = parseAddress(address);
    if (parsed === undefined || deniedRangeOf(parsed, except) !== undefined)
      throw errors.badRequest('network.egressProxy.address: the host is not one of the public internet');
  }
}

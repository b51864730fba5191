import { X509Certificate } from 'node:crypto';
import { defaultDaemonPort } from '@svc/daemon';
import {
  deniedRangeOf,
  PolicyError,
  parseAddress,
  parseAuthority,
  readNetwork,
  readRanges,
} from '@svc/network-policy';
import { errors } from '../../api/errors/catalog.js';
import type { TeamFlags } from '../../config/team-limits.js';
import { resolveHost } from '../../network/outbound/resolve-host.js';
import type { NetworkConfig } from '../../storage/json-shapes.js';

/**
 * Reads the network settings of a request, without a check of what the server can enforce.
 * @returns the settings as they are stored and enforced
 * @throws {ApiError} 400; 403 for an egress proxy without the team's flag, before its address is looked at.
 */
export function checkNetwork(network: NetworkConfig, flags: TeamFlags): NetworkConfig {
  if (network.egressProxy !== undefined && network.egressProxy !== null && !flags.egressProxy)
    throw errors.egressProxyForbidden();
  let read: NetworkConfig;
  try {
    read = readNetwork(network, { daemonPort: defaultDaemonPort });
  } catch (error) {
    if (error instanceof PolicyError) throw errors.badRequest(`network.${error.message}`);
    throw error;
  }
  const caCert = read.egressProxy?.tls?.caCert;
  if (caCert !== undefined && !isCertificate(caCert))
    throw errors.badRequest('network.egressProxy.tls.caCert is not a certificate as PEM');
  return read;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/**
 * Refuses an egress proxy that is no host of the public internet. The egress process looks again when it connects.
 * @param network as {@link checkNetwork} gives it
 * @param allowRanges private ranges that are allowed all the same.
 * @throws {ApiError} 400
 */
export async function checkProxyAddress(
  { egressProxy }: NetworkConfig,
  allowRanges: readonly string[],
): Promise<void> {
  const host = egressProxy && parseAuthority(egressProxy.address)?.host;
  if (host === undefined || host === null) return;
  const found = await resolveHost(host).catch(() => []);
  if (found.length === 0) throw errors.badRequest('network.egressProxy.address: the host has no address');
  const except = readRanges(allowRanges);
  for (const { address } of found) {
    const parsed = parseAddress(address);
    if (parsed === undefined || deniedRangeOf(parsed, except) !== undefined)
      throw errors.badRequest('network.egressProxy.address: the host is not one of the public internet');
  }
}

/** The settings as they are stored in the clear. */
export function withoutPassword(network: NetworkConfig): NetworkConfig {
  if (network.egressProxy === undefined || network.egressProxy === null) return network;
  const { password: _, ...proxy } = network.egressProxy;
  return { ...network, egressProxy: proxy };
}

import { X509Certificate } from 'node:crypto';
import { PolicyError, readSettings } from '@svc/egress/policy';
import { errors } from '../errors/catalog.js';
import type { TeamFlags } from '../limits/team-limits.js';
import type { NetworkConfig } from '../storage/json-shapes.js';

const DAEMON_PORT = 49_983;

/**
 * Checks the network settings, whatever the server can enforce.
 * @returns the settings as they are stored and enforced
 * @throws {ApiError} 400; 403 for an egress proxy without the team's flag, before its address is looked at.
 */
export function checkNetwork(network: NetworkConfig, flags: TeamFlags): NetworkConfig {
  if (network.egressProxy !== undefined && network.egressProxy !== null && !flags.egressProxy)
    throw errors.egressProxyForbidden();
  const read = readOutbound(network);
  const caCert = read.egressProxy?.tls?.caCert;
  if (caCert !== undefined && !isCertificate(caCert))
    throw errors.badRequest('network.egressProxy.tls.caCert is not a certificate as PEM');
  if (network.maskRequestHost !== undefined) checkMaskHost(network.maskRequestHost);
  if ((network.httpsPorts ?? []).includes(DAEMON_PORT))
    throw errors.badRequest(`network.httpsPorts: ${DAEMON_PORT} is the daemon's port`);
  return read;
}

function readOutbound(network: NetworkConfig): NetworkConfig {
  try {
    return readSettings(network);
  } catch (error) {
    if (error instanceof PolicyError) throw errors.badRequest(`network.${error.message}`);
    throw error;
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

function checkMaskHost(text: string): void {
  const host = text.replaceAll('${PORT}', '1');
  if (!/^[A-Za-z0-9._-]+(:\d{1,5})?$/.test(host) || host.length > 260)
    throw errors.badRequest('network.maskRequestHost must be an ASCII host, or host:port');
}

/** The settings as they are stored in the clear. */
export function withoutPassword(network: NetworkConfig): NetworkConfig {
  if (network.egressProxy === undefined || network.egressProxy === null) return network;
  const { password: _, ...proxy } = network.egressProxy;
  return { ...network, egressProxy: proxy };
}

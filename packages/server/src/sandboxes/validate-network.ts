import { X509Certificate } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import { checkRules, parseHostPattern } from '@svc/egress/policy';
import { errors } from '../errors/catalog.js';
import type { TeamFlags } from '../limits/team-limits.js';
import type { NetworkConfig } from '../storage/json-shapes.js';

const DAEMON_PORT = 49_983;

/** Whether the text is an IP address or a CIDR range. */
export function isAddress(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (isIP(address) === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128);
}

/**
 * Checks the shape of the network settings, whatever the server can enforce.
 * @returns the settings as they are stored: hosts of rules in lower case.
 * @throws {ApiError} 400; 403 for an egress proxy without the team's flag, before its address is looked at.
 */
export function checkNetwork(network: NetworkConfig, flags: TeamFlags): NetworkConfig {
  if (network.egressProxy !== undefined && network.egressProxy !== null) {
    if (!flags.egressProxy) throw errors.egressProxyForbidden();
    checkProxy(network.egressProxy);
  }
  for (const entry of network.denyOut ?? [])
    if (!isAddress(entry))
      throw errors.badRequest(`network.denyOut: '${clip(entry)}' is not an IP address or CIDR range`);
  let domains = false;
  for (const entry of network.allowOut ?? []) {
    if (entry === '0.0.0.0' || entry === '::')
      throw errors.badRequest(`network.allowOut: '${entry}' is not a destination`);
    if (isAddress(entry)) continue;
    if (parseHostPattern(entry) === undefined)
      throw errors.badRequest(
        `network.allowOut: '${clip(entry)}' is not an IP address, CIDR range or domain`,
      );
    domains = true;
  }
  if (domains && !(network.denyOut ?? []).includes('0.0.0.0/0'))
    throw errors.badRequest(
      "network.allowOut: with a domain in it, network.denyOut must contain '0.0.0.0/0'",
    );
  if (network.maskRequestHost !== undefined) checkMaskHost(network.maskRequestHost);
  if ((network.httpsPorts ?? []).includes(DAEMON_PORT))
    throw errors.badRequest(`network.httpsPorts: ${DAEMON_PORT} is the daemon's port`);
  if (network.rules === undefined) return network;
  const checked = checkRules(network.rules);
  if ('problem' in checked) throw errors.badRequest(`network.rules: ${checked.problem}`);
  return { ...network, rules: checked.rules };
}

function checkProxy(proxy: NonNullable<NetworkConfig['egressProxy']>): void {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):(\d{1,5})$/.exec(proxy.address);
  const port = Number(match?.[2]);
  if (match === null || port < 1 || port > 65_535)
    throw errors.badRequest('network.egressProxy.address must be host:port');
  if (proxy.password !== undefined && (proxy.username ?? '') === '')
    throw errors.badRequest('network.egressProxy.password needs a username');
  if (Buffer.byteLength(proxy.username ?? '') > 255 || Buffer.byteLength(proxy.password ?? '') > 255)
    throw errors.badRequest('network.egressProxy: username and password have at most 255 bytes');
  const { serverName, caCert } = proxy.tls ?? {};
  if (serverName !== undefined && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(serverName))
    throw errors.badRequest('network.egressProxy.tls.serverName is not a host name');
  if (caCert !== undefined && !isCertificate(caCert))
    throw errors.badRequest('network.egressProxy.tls.caCert is not a certificate as PEM');
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

function clip(text: string): string {
  return text.slice(0, 100);
}

/** The settings as they are stored in the clear. */
export function withoutPassword(network: NetworkConfig): NetworkConfig {
  if (network.egressProxy === undefined || network.egressProxy === null) return network;
  const { password: _, ...proxy } = network.egressProxy;
  return { ...network, egressProxy: proxy };
}

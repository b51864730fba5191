import { createHash } from 'node:crypto';
import { connect } from 'node:tls';
import type { IncusClient } from '../incus/incus-client.js';
import { IncusError } from '../incus/incus-error.js';
import { formatToken, type JoinToken } from './token.js';

const JOIN_MS = 300_000;
const CONNECT_MS = 10_000;

export interface JoinOptions {
  token: JoinToken;
  /** `host:port` under which the other members reach this one. */
  serverAddress: string;
  /** PEM of the cluster's certificate. */
  clusterCertificate: string;
  /** Where storage pools are kept on this machine, by pool. Absent: Incus makes a file for each. */
  poolSources?: Readonly<Record<string, string>>;
}

/** Makes the Incus that `client` speaks to a member of the cluster. It must not have any instances. @throws {IncusError} */
export async function joinCluster(client: IncusClient, options: JoinOptions): Promise<void> {
  const { token, serverAddress, clusterCertificate, poolSources = {} } = options;
  await client.call({
    method: 'PUT',
    path: '/cluster',
    body: {
      server_name: token.serverName,
      enabled: true,
      server_address: serverAddress,
      cluster_address: token.addresses[0],
      cluster_certificate: clusterCertificate,
      cluster_token: formatToken(token),
      member_config: Object.entries(poolSources).map(([name, value]) => ({
        entity: 'storage-pool',
        name,
        key: 'source',
        value,
      })),
    },
    operationMs: JOIN_MS,
  });
}

/** The certificate that a member shows, if it is the one of the token. @throws {IncusError} */
export async function fetchClusterCertificate(token: JoinToken): Promise<string> {
  let failure: unknown;
  for (const address of token.addresses) {
    try {
      const der = await shownCertificate(address);
      if (createHash('sha256').update(der).digest('hex') === token.fingerprint) {
        const lines = der
          .toString('base64')
          .replace(/(.{64})/g, '$1\n')
          .trimEnd();
        return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
      }
      failure = new IncusError(
        0,
        `What answers at ${address} is not the cluster of the token: its certificate is another.`,
      );
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function shownCertificate(address: string): Promise<Buffer> {
  const { hostname, port } = new URL(`https://${address}`);
  return new Promise((resolve, reject) => {
    // Nobody signs it; the token says which one it must be.
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 8443),
      rejectUnauthorized: false,
    });
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('it does not answer')));
    socket.once('secureConnect', () => {
      resolve(socket.getPeerX509Certificate()!.raw);
      socket.destroy();
    });
    socket.once('error', (cause) =>
      reject(new IncusError(0, `The cluster cannot be reached at ${address}: ${cause.message}.`, { cause })),
    );
  });
}

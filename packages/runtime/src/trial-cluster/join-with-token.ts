import { DriverError } from '../contract/errors.js';
import { IncusClient } from '../incus/incus-client.js';
import { IncusError } from '../incus/incus-error.js';
import type { WireServer } from '../incus-driver/wire.js';
import { fetchClusterCertificate, joinCluster } from './join-cluster.js';
import { parseToken } from './token.js';

const LOCAL_SOCKET = '/var/lib/incus/unix.socket';
const PORT = 8443;

export interface JoinClusterOptions {
  /** As `incus cluster add NAME` prints it on a member. */
  token: string;
  /** Under which the members reach this machine: an address, or `address:port`. */
  serverAddress: string;
  /** Socket of the Incus of this machine. Default `/var/lib/incus/unix.socket`. */
  socket?: string | undefined;
  /** Where storage pools are kept on this machine, by pool: a device or a directory. Absent: Incus makes a file for each. */
  poolSources?: Readonly<Record<string, string>> | undefined;
}

export interface JoinedCluster {
  /** Name of this machine in the cluster. */
  member: string;
  /** Members that the token named. */
  addresses: string[];
}

/**
 * Makes the Incus of this machine a member of the cluster that the token is of.
 * @throws {DriverError} `invalid_spec` for a token that is none, `busy` where Incus is clustered already, `unreachable`.
 */
export async function joinWithToken(options: JoinClusterOptions): Promise<JoinedCluster> {
  const token = readToken(options.token);
  const client = new IncusClient({ address: options.socket ?? LOCAL_SOCKET });
  try {
    const { environment } = await client.call<WireServer>({ path: '' });
    if (environment.server_clustered)
      throw new DriverError(
        'busy',
        `Incus on this machine is a member of a cluster already, as ${environment.server_name}.`,
      );
    await joinCluster(client, {
      token,
      serverAddress: /:\d+$/.test(options.serverAddress)
        ? options.serverAddress
        : `${options.serverAddress}:${PORT}`,
      clusterCertificate: await fetchClusterCertificate(token),
      poolSources: options.poolSources ?? {},
    });
    return { member: token.serverName, addresses: token.addresses };
  } catch (error) {
    if (!IncusError.is(error)) throw error;
    throw new DriverError('unreachable', `This machine could not join: ${error.message}`, { cause: error });
  } finally {
    client.close();
  }
}

function readToken(text: string) {
  try {
    return parseToken(text);
  } catch (error) {
    if (!IncusError.is(error)) throw error;
    throw new DriverError('invalid_spec', error.message, { cause: error });
  }
}

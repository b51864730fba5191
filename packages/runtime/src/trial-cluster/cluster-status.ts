import { DriverError } from '../contract/errors.js';
import { IncusClient, type IncusCredentials } from '../incus/incus-client.js';
import { IncusError } from '../incus/incus-error.js';
import { keys } from '../incus-driver/keys.js';
import { readInstances, readMembers, readServer } from '../incus-driver/read-wire.js';

export interface ClusterStatusOptions {
  /** As the setting `incus.address`. */
  address: string;
  /** Default `svc`. */
  project?: string | undefined;
  credentials?: IncusCredentials | undefined;
}

export interface ClusterStatus {
  /** Of Incus. */
  version: string;
  /** Empty: one server of its own. */
  members: {
    name: string;
    address: string;
    /** `Online`, `Offline`, `Evacuated`, `Blocked`. */
    status: string;
    message: string;
    /** True if it keeps the cluster's database: most of those that do must be there. */
    database: boolean;
    /** Sandboxes of the project on it, those that wait in a pool too. */
    sandboxes: number;
  }[];
  /** Checkpoints of the project. */
  checkpoints: number;
}

/** Asks whichever member answers. @throws {DriverError} `unreachable` */
export async function clusterStatus(options: ClusterStatusOptions): Promise<ClusterStatus> {
  const { address, project = 'svc', credentials } = options;
  let client: IncusClient | undefined;
  try {
    client = new IncusClient({ address, project, credentials });
    const server = readServer(await client.call({ path: '' }));
    const members = server.environment.server_clustered
      ? readMembers(await client.call({ path: '/cluster/members', query: { recursion: '1' } }))
      : [];
    const found = readInstances(await client.find({ path: '/instances', query: { recursion: '1' } }));
    const sandboxes = found.filter(({ config }) => ['live', 'pooled'].includes(config[keys.state] ?? ''));
    return {
      version: server.environment.server_version,
      members: members.map(({ server_name: name, url, status, message, database }) => ({
        name,
        address: url.replace(/^https:\/\//, ''),
        status,
        message,
        database,
        sandboxes: sandboxes.filter(({ location }) => location === name).length,
      })),
      checkpoints: found.filter(({ config }) => config[keys.state] === 'checkpoint').length,
    };
  } catch (error) {
    if (!IncusError.is(error)) throw error;
    throw new DriverError('unreachable', error.message, { cause: error });
  } finally {
    client?.close();
  }
}

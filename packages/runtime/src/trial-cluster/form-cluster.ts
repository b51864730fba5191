import { IncusClient } from '../incus/incus-client.js';
import { projectKeys } from '../incus-driver/keys.js';
import type { WireServer } from '../incus-driver/wire.js';
import { joinCluster } from './join-cluster.js';
import type { TrialPlan } from './plan.js';
import type { JoinToken } from './token.js';

const PORT = 8443;
const POOL = 'svc';
const PROJECT = 'svc';
/** Where member-inside.sh mounts the pool. */
const POOL_SOURCE = '/srv/pool';
/** Without a word from a member for so long, it counts as away, seconds. They speak every ten. */
const OFFLINE_SECONDS = '20';

/** Makes one cluster of members that answer, with a storage pool and the project that the driver looks for. What is done already is left. */
export async function formCluster(plan: TrialPlan, log: (line: string) => void): Promise<void> {
  const clients = plan.members.map(({ socket }) => new IncusClient({ address: socket }));
  try {
    const [first] = clients;
    const certificate = await beginCluster(first!, plan);
    for (const [index, { name, address }] of plan.members.entries()) {
      const client = clients[index]!;
      if (index === 0 || (await serverOf(client)).environment.server_clustered) continue;
      const token = await first!.start<JoinToken>({
        method: 'POST',
        path: '/cluster/members',
        body: { server_name: name },
      });
      await joinCluster(client, {
        token,
        serverAddress: `${address}:${PORT}`,
        clusterCertificate: certificate,
        poolSources: { [POOL]: POOL_SOURCE },
      });
      log(`member ${name} joined`);
    }
  } finally {
    for (const client of clients) client.close();
  }
}

/** @returns PEM of the cluster's certificate */
async function beginCluster(client: IncusClient, plan: TrialPlan): Promise<string> {
  const { network, members } = plan;
  const { name, address } = members[0]!;
  let server = await serverOf(client);
  if (!server.environment.server_clustered) {
    await client.call({
      method: 'PATCH',
      path: '',
      body: { config: { 'core.https_address': `${address}:${PORT}` } },
    });
    await client.call({ method: 'PUT', path: '/cluster', body: { server_name: name, enabled: true } });
    server = await serverOf(client);
  }
  await client.call({
    method: 'PATCH',
    path: '',
    body: { config: { 'cluster.offline_threshold': OFFLINE_SECONDS } },
  });
  if ((await client.find({ path: `/storage-pools/${POOL}` })) === undefined) {
    const body = { name: POOL, driver: 'btrfs', config: { source: POOL_SOURCE } };
    // In a cluster a pool is named for each member first.
    await client.call({ method: 'POST', path: '/storage-pools', query: { target: name }, body });
    await client.call({ method: 'POST', path: '/storage-pools', body: { name: POOL, driver: 'btrfs' } });
  }
  const config = {
    'features.images': 'true',
    'features.profiles': 'true',
    [projectKeys.pool]: POOL,
    [projectKeys.parent]: 'eth0',
    [projectKeys.range]: network.range,
    [projectKeys.gateway]: network.socket,
    // member-inside.sh loads it.
    [projectKeys.fence]: 'true',
  };
  const project = await client.find<{ config: Record<string, string> }>({ path: `/projects/${PROJECT}` });
  if (project === undefined) {
    await client.call({ method: 'POST', path: '/projects', body: { name: PROJECT, config } });
  } else if (project.config[projectKeys.fence] === undefined) {
    // Of an earlier version. Incus keeps nothing of a project that is not said again, by PATCH neither.
    const body = { config: { ...project.config, [projectKeys.fence]: config[projectKeys.fence] } };
    await client.call({ method: 'PUT', path: `/projects/${PROJECT}`, body });
  }
  return server.environment.certificate;
}

function serverOf(client: IncusClient): Promise<WireServer> {
  return client.call<WireServer>({ path: '' });
}

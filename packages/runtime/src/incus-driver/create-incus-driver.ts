import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '#support/write-atomically';
import { agentArgs, DAEMON, prepareAgent } from '../agent/agent.js';
import { ipProgram, nodeProgram } from '../agent/host-programs.js';
import { DriverError } from '../contract/errors.js';
import { baseDirectory, baseRecipe, findBase } from '../host/base-root.js';
import { IncusClient, type IncusClientOptions } from '../incus/incus-client.js';
import { lockDataDir } from '../shared/data-dir-lock.js';
import { DAEMON_PORT } from '../shared/dial-instance.js';
import { randomId } from '../shared/instance-id.js';
import { Addresses } from './addresses.js';
import { CheckpointRecords } from './checkpoint-records.js';
import { readCredentials } from './credentials.js';
import { driverError } from './driver-error.js';
import { Images } from './image/images.js';
import { LayerFiles } from './image/layer-files.js';
import { IncusCluster } from './incus-cluster.js';
import { IncusDriver } from './incus-driver.js';
import { QUOTA_DRIVERS } from './judge-incus.js';
import { projectKeys } from './keys.js';
import {
  DEFAULT_ADDRESS,
  DEFAULT_NAME_SERVERS,
  DEFAULT_PROJECT,
  type IncusDriverOptions,
  NEEDED_EXTENSIONS,
} from './options.js';
import { dialerOf } from './reach.js';
import { readServer } from './read-wire.js';
import { CustomVolumes } from './volumes/custom-volumes.js';
import { MemberClients } from './volumes/member-clients.js';
import { mountProblem } from './volumes/mount-problem.js';
import type { WireServer } from './wire.js';

/**
 * Makes the driver of sandboxes on an Incus server or cluster. Needs no right on this machine but to its address, and, to
 * publish the root file system of the template base, root to read it.
 * @throws {DriverError} `unreachable`, `unsupported` with the missing parts; `busy` while another driver has the data directory.
 */
export async function createIncusDriver(options: IncusDriverOptions): Promise<IncusDriver> {
  const lock = await lockDataDir(options.dataDir);
  let client: IncusClient | undefined;
  try {
    const access = await accessOf(options);
    client = new IncusClient(access);
    const cluster = new IncusCluster(client);
    const members = new MemberClients({ ...access, members: () => cluster.members() });
    return await open(options, { client, cluster, members, lock });
  } catch (error) {
    client?.close();
    await lock.release();
    throw driverError(error, { code: 'unsupported', message: 'Incus cannot be used.' });
  }
}

async function open(
  options: IncusDriverOptions,
  given: {
    client: IncusClient;
    cluster: IncusCluster;
    members: MemberClients;
    lock: Awaited<ReturnType<typeof lockDataDir>>;
  },
): Promise<IncusDriver> {
  const { client, cluster, members, lock } = given;
  const { dataDir, daemon, now = Date.now } = options;
  const server = readServer(await client.call({ path: '' }));
  requireServer(server);
  const settings = await readSettings(options, client);
  const owner = await ownerOf(dataDir);
  const agents = join(dataDir, 'agents');
  const ip = await ipProgram();
  const agent = await prepareAgent(agents, daemon, new Map([...(await nodeProgram()), ...ip]));
  const files = new LayerFiles(join(dataDir, 'layers'));
  await files.prepare();
  const records = new CheckpointRecords(join(dataDir, 'checkpoints'));
  const recipe = await baseRecipe();
  const images = new Images({
    client,
    layers: files,
    agent: join(agents, agent.name),
    agentName: agent.name,
    base: () => {
      const found = findBase(baseDirectory(options), recipe);
      if (found !== undefined) return found;
      throw new DriverError(
        'unsupported',
        'The root file system of the template base is not built on this machine yet: `svc server doctor --fix` builds it, in about a minute.',
      );
    },
    architecture: server.environment.kernel_architecture,
    nameServers: options.nameServers ?? DEFAULT_NAME_SERVERS,
    owner,
    now,
  });
  const addresses = new Addresses(settings.range, Math.random());
  const all = await cluster.listAll();
  const { driver } = await client.call<{ driver: string }>({
    path: `/storage-pools/${encodeURIComponent(settings.pool)}`,
  });
  const { pool } = settings;
  return new IncusDriver(
    {
      options,
      lock,
      cluster,
      images,
      files,
      addresses,
      dial: dialerOf(settings.gateway),
      owner,
      clusterId: `${server.environment.certificate_fingerprint}/${client.project}`,
      pool,
      parent: settings.parent,
      fenced: settings.fenced,
      setsUpCards: ip.size > 0,
      diskLimit: QUOTA_DRIVERS.includes(driver),
      command: agentArgs({ port: DAEMON_PORT }),
      renameCommand: (name) => [DAEMON, 'hostname', name],
      summary: `incus: Incus ${server.environment.server_version}${server.environment.server_clustered ? ', clustered' : ''}; pool ${settings.pool} (${driver}), project ${client.project}`,
      volumesDirectory: join(dataDir, 'volumes'),
      customVolumes: new CustomVolumes({ client, members, pool }),
      memberClients: members,
      mountProblem: mountProblem({ pool, driver, extensions: server.api_extensions }),
      records,
      recorded: await records.load(new Set(all.map(({ name }) => name))),
    },
    all,
  );
}

/** Refuses what answers but is no Incus that this driver can use. */
function requireServer({ api_extensions: extensions, auth, environment }: WireServer): void {
  if (auth !== 'trusted')
    throw new DriverError(
      'unreachable',
      'Incus does not know the client certificate of this server: `incus config trust add-certificate FILE` on a member adds it.',
    );
  const missing = NEEDED_EXTENSIONS.filter((name) => !extensions.includes(name));
  if (missing.length > 0)
    throw new DriverError(
      'unsupported',
      `Incus ${environment.server_version} is too old: 6.0 or later is needed.`,
      {
        detail: `it does not have ${missing.join(', ')}`,
      },
    );
}

async function accessOf(options: IncusDriverOptions): Promise<IncusClientOptions> {
  return {
    address: options.address ?? DEFAULT_ADDRESS,
    project: options.project ?? DEFAULT_PROJECT,
    credentials: await readCredentials(options),
  };
}

/** Reads the settings that the options leave open from the project. Makes the project where it is missing. */
async function readSettings(options: IncusDriverOptions, client: IncusClient) {
  const path = `/projects/${encodeURIComponent(client.project)}`;
  let project = await client.find<{ config: Record<string, string> }>({ path });
  if (project === undefined) {
    await client.call({
      method: 'POST',
      path: '/projects',
      body: { name: client.project, config: { 'features.images': 'true', 'features.profiles': 'true' } },
    });
    project = { config: {} };
  }
  const { config } = project;
  const parent = options.parent ?? config[projectKeys.parent];
  const range = options.range ?? config[projectKeys.range];
  if (parent === undefined || range === undefined) {
    throw new DriverError(
      'unsupported',
      'The driver incus needs to know how sandboxes are reached: an interface that every member has (SVC_INCUS_PARENT, such as eth0), and a range of free addresses in its network (SVC_INCUS_RANGE, such as 10.20.16.0/20).',
    );
  }
  const gateway = options.gateway ?? config[projectKeys.gateway];
  const pool = options.pool ?? config[projectKeys.pool] ?? (await onlyPool(client));
  const fenced = options.fence ?? config[projectKeys.fence] === 'true';
  return { parent, range, pool, gateway, fenced };
}

async function onlyPool(client: IncusClient): Promise<string> {
  const pools = await client.call<string[]>({ path: '/storage-pools' });
  if (pools.length === 1) return decodeURIComponent(pools[0]!.split('/').at(-1)!);
  throw new DriverError('unsupported', `Incus has ${pools.length} storage pools: name one (SVC_INCUS_POOL).`);
}

/** Random name under which this data directory finds its own in Incus again. */
async function ownerOf(dataDir: string): Promise<string> {
  const path = join(dataDir, 'incus-owner');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const owner = randomId();
    await writeAtomically(path, `${owner}\n`);
    return owner;
  }
}

import { lchownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { anyOf } from '#support/any-of';
import { processStart } from '#support/process-identity';
import { agentArgs } from '../../agent/agent.js';
import { DriverError } from '../../contract/errors.js';
import type { InstanceMount } from '../../contract/instance.js';
import { hostNofileLimit, limitsQueues, sharedLimits } from '../../host/host-limits.js';
import { type Dial, dialTcp } from '../../shared/dial.js';
import { DAEMON_PORT } from '../../shared/dial-instance.js';
import { waitForDaemon } from '../../shared/readiness.js';
import { FIND_DIRECTORY_MASK } from '../criu/external-mounts.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import type { ScriptCall } from '../namespace/script-call.js';
import { SCRIPTS } from '../namespace/script-shell.js';
import { type BoundMount, type OciConfig, ociConfig, pingGroups } from '../oci/oci-config.js';
import { planRoot } from '../rootfs/layer-facts.js';
import { emptyPartOf } from '../rootfs/root-plan.js';
import { shareMounts } from '../rootfs/share-files.js';
import { AGENTS, bindsOf, mountsOf, rootOf, usrOf } from '../state/mount-points.js';
import type { InstanceEntry } from '../state/records.js';
import type { OciTier, Origin, StartCommand } from '../tiers/tier.js';

/**
 * Settings for every dump and restore. `manage-cgroups=ignore` needs the equals sign: written with a blank it means
 * "soft", in which CRIU copies the host's whole cgroup tree below the restored one, again and again.
 */
const CRIU_CONFIG = `tcp-close
skip-in-flight
link-remap
file-locks
ghost-limit 1073741824
manage-cgroups=ignore
network-lock skip
${FIND_DIRECTORY_MASK}
action-script ${SCRIPTS}/criu-hook.sh
`;

const START_TIMEOUT_MS = 60_000;

/**
 * Makes and starts the instance described by `entry`, up to an answering daemon; a trial up to its first instruction, which it never
 * comes to. The caller undoes it on failure.
 */
export async function boot(
  host: LinuxHost,
  tier: OciTier,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  hostname: string,
  origin: Origin,
  signal?: AbortSignal,
): Promise<void> {
  const restoring = origin.kind === 'checkpoint' && origin.memory;
  const code = restoring ? 'restore_failed' : 'create_failed';
  // A kernel of its own shows the instance's share itself.
  if (tier.isolation === 'container') host.shares.make(keeper, entry);
  const config = writeBundle(host, tier, keeper, entry, hostname);
  const start = tier.start(entry, origin, config);
  if (start.cgroup !== undefined) host.cgroups.make(entry.name, start.cgroup);
  const trial = restoring && origin.trial === true;
  const answers = await host.store.run(bootCall(host, keeper, entry, hostname, origin, start), {
    code,
    timeoutMs: START_TIMEOUT_MS,
    ...(restoring
      ? {
          message:
            'Its memory could not be restored on this machine. Its files are kept: start it cold with memory: false.',
        }
      : {}),
  });
  if (trial) return;
  const pid = Number(answers.pid);
  if (start.images !== undefined) ownQueues(pid, entry);
  const began = processStart(pid);
  if (began === undefined) {
    throw new DriverError(code, 'The sandbox ended while it started.');
  }
  entry.pid = pid;
  entry.start = began;
  host.records.write(entry);
  const address = host.network.addressOf(entry.lease);
  await waitForDaemon(eagerDial(address), {
    timeoutMs: START_TIMEOUT_MS,
    signal,
    gaveUp: () => (processStart(pid) === began ? undefined : 'The sandbox ended while it started.'),
  });
}

/** CRIU makes the namespace of message queues before it becomes root of the instance. Nothing inside can move these mounts. */
function ownQueues(pid: number, { firstId }: InstanceEntry): void {
  if (firstId === undefined) return;
  try {
    lchownSync(`/proc/${pid}/root/dev/mqueue`, firstId, firstId);
  } catch {
    // It ended meanwhile.
  }
}

/**
 * Connects to a daemon that may not be there yet. The first packets over a new veth pair can get lost, and TCP would wait a
 * whole second before it sends another: give up sooner and let the caller ask again.
 */
function eagerDial(address: string): Dial {
  let patienceMs = 25;
  return async (signal) => {
    const limit = AbortSignal.timeout(patienceMs);
    try {
      return await dialTcp(address, DAEMON_PORT, signal === undefined ? limit : anyOf([signal, limit]));
    } catch (error) {
      if (limit.aborted) patienceMs = Math.min(patienceMs * 2, 200);
      throw error;
    }
  };
}

function writeBundle(
  host: LinuxHost,
  tier: OciTier,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  hostname: string,
): OciConfig {
  const bundle = join(host.paths.store, 'i', entry.name);
  mkdirSync(join(keeper.view(bundle), 'wk'), { recursive: true });
  const root = rootOf(entry.name);
  const usr = usrOf(entry.name);
  for (const path of [mountsOf(entry.name), root, usr]) keeper.makeDirectory(path);
  const config = ociConfig({
    hostname,
    root,
    usr: planRoot(host.store, host.bases, entry.layers).usr === undefined ? undefined : usr,
    agent: `${AGENTS}/${entry.agent}`,
    firstId: entry.firstId,
    args: agentArgs({ port: DAEMON_PORT }),
    cgroupsPath: host.cgroups.pathOf(entry.name),
    criuConfig: join(bundle, 'criu.conf'),
    limits: entry.spec.limits,
    swapAccounting: host.cgroups.swapAccounting,
    shares: tier.isolation === 'container' ? shareMounts(entry.name) : [],
    mounts: boundMounts(entry.name, entry.spec.mounts),
    rawSockets: host.options.rawSockets === true,
    limitsQueues: tier.isolation === 'container' && limitsQueues(),
    maxOpenFiles: hostNofileLimit(),
    arch: process.arch,
  });
  writeFileSync(join(keeper.view(bundle), 'config.json'), JSON.stringify(tier.bundle(entry, config)));
  writeFileSync(join(keeper.view(bundle), 'criu.conf'), CRIU_CONFIG);
  return config;
}

function bootCall(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  hostname: string,
  origin: Origin,
  start: StartCommand,
): ScriptCall {
  const { store, network, paths } = host;
  const plan = planRoot(store, host.bases, entry.layers);
  const restoring = origin.kind === 'checkpoint' && origin.memory;
  const { diskMiB } = entry.spec.limits;
  const sources = entry.spec.mounts.map(({ source, volumeId }) =>
    source === undefined ? host.volumePath(volumeId) : keeper.inside(source),
  );
  return {
    name: 'instance_boot',
    variables: {
      INSTANCE: entry.name,
      FROM: origin.kind === 'fresh' ? undefined : `c/${origin.checkpointId}/sv`,
      EMPTY: emptyPartOf(entry.layers),
      RENUMBER: origin.kind === 'checkpoint' && origin.renumber ? 'yes' : undefined,
      IMAGES: start.images?.directory,
      OWN_USERS: start.images?.ownUsers,
      RESTORING: restoring ? 'yes' : undefined,
      TRIAL: restoring && origin.trial === true ? join(paths.store, 'i', entry.name, 'tried') : undefined,
      DISK_LIMIT: store.quota && diskMiB !== undefined ? `${diskMiB}M` : undefined,
      ROOT_LAYERS: plan.root.join(':'),
      USR_LAYERS: plan.usr?.join(':'),
      AT: mountsOf(entry.name),
      FIRST_ID: entry.firstId,
      ARCH: process.arch,
      LIMITS:
        start.limitsUsers !== true
          ? ''
          : sharedLimits()
              .flatMap(({ name, each }) => (each === undefined ? [] : [`--${name}=${each}`]))
              .join(' '),
      MOUNT_BINDS: bindsOf(entry.name),
      HOST_NAME: hostname,
      NAME_SERVERS: network.nameServers().join(' '),
      PING_GROUPS: pingGroups(entry.firstId),
      CRIU: host.criu,
      OCI: paths.oci,
      CGROUPS: start.cgroup === undefined ? undefined : host.cgroups.directoriesOf(entry.name).join(' '),
      NETWORK_FIRST: start.networkFirst === true ? 'yes' : undefined,
      FORMER_ADDRESSES: entry.formerAddresses
        ?.filter((former) => former !== network.addressOf(entry.lease))
        .join(' '),
      FALLBACK: start.fallback,
      ...network.pairOf(entry.lease, entry.spec.network),
    },
    arguments: [String(sources.length), ...sources, ...start.command],
  };
}

/** The mounts of an instance with what the OCI runtime binds instead of the directories themselves: binds of them. */
function boundMounts(name: string, mounts: readonly InstanceMount[]): BoundMount[] {
  return mounts.map(({ target, readOnly = false }, index) => ({
    target,
    readOnly,
    source: `${bindsOf(name)}/${index}`,
  }));
}

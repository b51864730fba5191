import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '#support/process-identity';
import { quote } from '#support/quote';
import { DriverError } from '../../contract/errors.js';
import { hostNofileLimit } from '../../host/host-limits.js';
import { type Dial, dialTcp } from '../../shared/dial.js';
import { DAEMON_PORT } from '../../shared/dial-instance.js';
import { waitForDaemon } from '../../shared/readiness.js';
import { CRIU_CONFIG } from '../criu/criu-config.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { NamespaceKeeper } from '../namespace/namespace-keeper.js';
import { type OciConfig, ociConfig } from '../oci/oci-config.js';
import { agentArgs } from '../rootfs/agent.js';
import { planRoot } from '../rootfs/root-plan.js';
import type { InstanceEntry } from '../state/records.js';
import type { Origin } from './origin.js';
import { restoresItself, startCommands } from './start-commands.js';
import { bindMounts, boundMounts } from './volume-binds.js';

const START_TIMEOUT_MS = 60_000;

/** Makes and starts the instance described by `entry`, up to an answering daemon. The caller undoes it on failure. */
export async function boot(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  hostname: string,
  origin: Origin,
  signal?: AbortSignal,
): Promise<void> {
  const restoring = origin.kind === 'checkpoint' && origin.memory;
  const code = restoring ? 'restore_failed' : 'create_failed';
  const config = writeBundle(host, keeper, entry, hostname);
  if (restoring && restoresItself(host)) host.cgroups.make(entry.name, config.linux.resources);
  const result = await host.inStore(
    keeper,
    bootScript(host, keeper, entry, hostname, origin, startCommands(host, entry, origin, config)),
    code,
    START_TIMEOUT_MS,
  );
  const pid = Number(/^pid (\d+)$/m.exec(result.stdout)?.[1]);
  const start = processStart(pid);
  if (start === undefined) {
    throw new DriverError(code, 'The sandbox ended while it started.', {
      detail: result.stderr.trim().slice(-2000),
    });
  }
  entry.pid = pid;
  entry.start = start;
  host.records.write(entry);
  const address = host.network.addressOf(entry.slot);
  await waitForDaemon(eagerDial(address), {
    timeoutMs: START_TIMEOUT_MS,
    signal,
    gaveUp: () => (processStart(pid) === start ? undefined : 'The sandbox ended while it started.'),
  });
}

/**
 * Connects to a daemon that may not be there yet. The first packets over a new cable can get lost, and TCP would wait a
 * whole second before it sends another: give up sooner and let the caller ask again.
 */
function eagerDial(address: string): Dial {
  let patienceMs = 25;
  return async (signal) => {
    const limit = AbortSignal.timeout(patienceMs);
    try {
      return await dialTcp(
        address,
        DAEMON_PORT,
        signal === undefined ? limit : AbortSignal.any([signal, limit]),
      );
    } catch (error) {
      if (limit.aborted) patienceMs = Math.min(patienceMs * 2, 200);
      throw error;
    }
  };
}

function writeBundle(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  hostname: string,
): OciConfig {
  const bundle = join(host.paths.store, 'i', entry.name);
  mkdirSync(join(keeper.view(bundle), 'm'), { recursive: true });
  mkdirSync(join(keeper.view(bundle), 'wk'), { recursive: true });
  mkdirSync(join(keeper.view(bundle), 'usr'), { recursive: true });
  const agent = { name: entry.agent, init: host.agent?.init ?? true };
  const config = ociConfig({
    hostname,
    root: join(bundle, 'm'),
    usr: planOf(host, keeper, entry).usr === undefined ? undefined : join(bundle, 'usr'),
    agent: join(host.paths.store, 'agents', entry.agent),
    args: agentArgs(agent, host.options.daemon, DAEMON_PORT),
    cgroupsPath: host.cgroups.pathOf(entry.name),
    criuConfig: join(bundle, 'criu.conf'),
    limits: entry.spec.limits,
    swapAccounting: host.cgroups.swapAccounting,
    mounts: boundMounts(entry.name, entry.spec.mounts),
    rawSockets: host.options.rawSockets === true,
    maxOpenFiles: hostNofileLimit(),
    arch: process.arch,
  });
  writeFileSync(join(keeper.view(bundle), 'config.json'), JSON.stringify(config));
  writeFileSync(join(keeper.view(bundle), 'criu.conf'), CRIU_CONFIG);
  return config;
}

function planOf(host: LinuxHost, keeper: NamespaceKeeper, entry: InstanceEntry) {
  return planRoot(entry.layers, (id) => host.layerFacts(keeper, id));
}

function bootScript(
  host: LinuxHost,
  keeper: NamespaceKeeper,
  entry: InstanceEntry,
  hostname: string,
  origin: Origin,
  starts: readonly string[],
): string {
  const { store, network } = host;
  const plan = planOf(host, keeper, entry);
  const here = `i/${entry.name}`;
  const restoring = origin.kind === 'checkpoint' && origin.memory;
  const writable =
    origin.kind === 'fresh'
      ? `${store.makeEmpty(`${here}/sv`)}
mkdir -m 755 ${here}/sv/u ${here}/sv/u/etc ${here}/sv/w ${here}/sv/uu ${here}/sv/uw`
      : `${store.copy(`c/${origin.checkpointId}/sv`, `${here}/sv`)}
rm -rf ${here}/sv/w ${here}/sv/uw; mkdir ${here}/sv/w ${here}/sv/uw`;
  const identity = restoring
    ? ''
    : identityFiles(`${here}/sv/u/etc`, hostname, network.nameServers(), origin.kind === 'fresh');
  const mounts = entry.spec.mounts.map((mount) => ({ ...mount, source: keeper.inside(mount.source) }));
  // Every process that the script starts costs a millisecond or two, so it starts few.
  return `
fail() { echo "$1"; cat ${here}/wk/oci.log 2>/dev/null | tail -n 5; grep -h Error ${here}/wk/restore.log 2>/dev/null | tail -n 5; exit 1; }
${host.runtimePath}
set -e
${writable}
{ ${store.limit(`${here}/sv`, entry.spec.limits.diskMiB)}; } & LIMIT=$!
${identity}
${bindMounts(entry.name, mounts)}
over() { mount -t overlay overlay -o "nodev,lowerdir=$1,upperdir=$2,workdir=$3,index=on,nfs_export=on" "$4"; }
over ${quote(plan.root.join(':'))} ${here}/sv/u ${here}/sv/w ${here}/m
${plan.usr === undefined ? '' : `over ${quote(plan.usr.join(':'))} ${here}/sv/uu ${here}/sv/uw ${here}/usr`}
wait $LIMIT
${starts.map((start) => `${start} </dev/null >/dev/null 2>&1`).join(' || ')} || fail 'the runtime failed'
read -r PID < ${here}/pid || :; echo "pid $PID"
${network.plumb(entry.slot, entry.spec.network, restoring ? hostname : undefined)}
`;
}

/**
 * Gives the files that name the sandbox. They go into the writable part before anything runs, and never through a link
 * that an earlier life of this file system may have planted. @param empty there was no earlier life.
 */
function identityFiles(etc: string, hostname: string, nameServers: string[], empty: boolean): string {
  const files = [
    { name: 'hostname', text: `${hostname}\\n` },
    { name: 'hosts', text: `127.0.0.1 localhost ${hostname}\\n::1 localhost\\n` },
    { name: 'resolv.conf', text: nameServers.map((server) => `nameserver ${server}\\n`).join('') },
  ].map(({ name, text }) => ({ path: `${etc}/${name}`, write: `printf '${text}' > ${etc}/${name}` }));
  if (empty) return files.map(({ write }) => write).join('\n');
  return `[ -e ${etc} ] || [ -L ${etc} ] || mkdir -m 755 ${etc}
if [ -d ${etc} ] && [ ! -L ${etc} ]; then
${files.map(({ path, write }) => `if [ ! -d ${path} ] || [ -L ${path} ]; then rm -f ${path}; ${write}; fi`).join('\n')}
fi`;
}

import { join } from 'node:path';
import type { Host } from './host.js';
import { CPU_PERIOD_US, DEVICES } from './oci-config.js';
import type { InstanceEntry } from './records.js';
import { quote } from './run.js';

/** CRIU is known to hang, and must not outlive a server that was killed meanwhile. */
export const RESTORE_TIMEOUT_S = 50;

/** What OCI runtimes add: to make nodes, which the kernel refuses in a user namespace anyway, and the console. */
const ALSO_ALLOWED = ['c *:* m', 'b *:* m', 'c 5:1 rwm'];

/** A mount of the bundle whose content is not in the images. */
export interface OutsideMount {
  destination: string;
  source: string;
}

/**
 * Shell command that restores the memory of a checkpoint into the instance's cgroup, its root mounted already. CRIU is
 * called as the OCI runtime would call it, without the three programs that the runtime starts first. The cgroup must be
 * there: processes stay in the one that CRIU was in.
 */
export function restoreCommand(
  host: Host,
  entry: InstanceEntry,
  options: { images: string; mounts: readonly OutsideMount[] },
): string {
  const bundle = join(host.paths.store, 'i', entry.name);
  const argv = [
    join(host.criu!, 'criu'),
    ...['restore', '--no-default-config', '--config', join(bundle, 'criu.conf')],
    ...['--images-dir', options.images, '--work-dir', join(bundle, 'wk'), '--log-file', 'restore.log', '-v2'],
    ...['--root', join(bundle, 'm'), '--restore-detached', '--pidfile', join(bundle, 'pid')],
    ...['--empty-ns', 'net', '--evasive-devices', '--weak-sysctls'],
    ...options.mounts.flatMap(({ destination, source }) => ['--external', `mnt[${destination}]:${source}`]),
    // What hides a file of /proc or /sys.
    ...['--external', 'mnt[/dev/null]:/dev/null'],
  ];
  const enter = host.cgroups.directoriesOf(entry.name).map((path) => `echo 0 > ${quote(path)}/cgroup.procs`);
  return `( ${enter.join(' && ')} && exec timeout -s KILL ${RESTORE_TIMEOUT_S} ${argv.map(quote).join(' ')} )`;
}

/** Makes the cgroup of an instance with its limits, as the OCI runtime would. */
export function makeCgroup(host: Host, entry: InstanceEntry): void {
  const { limits } = entry.spec;
  host.cgroups.make(entry.name, {
    ...(limits.memoryMiB === undefined ? {} : { memoryBytes: limits.memoryMiB * 1024 * 1024 }),
    ...(limits.cpuCount === undefined ? {} : { cpuQuotaUs: Math.round(limits.cpuCount * CPU_PERIOD_US) }),
    ...(limits.pids === undefined ? {} : { pids: limits.pids }),
    cpuPeriodUs: CPU_PERIOD_US,
    devices: [...DEVICES.map(([major, minor]) => `c ${major}:${minor ?? '*'} rwm`), ...ALSO_ALLOWED],
  });
}

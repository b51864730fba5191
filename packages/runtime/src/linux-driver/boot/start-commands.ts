import { join } from 'node:path';
import { quote } from '#support/quote';
import { criuCommand } from '../criu/criu-command.js';
import { mountsToFind } from '../criu/external-mounts.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { OciConfig } from '../oci/oci-config.js';
import type { InstanceEntry } from '../state/records.js';
import type { Origin } from './origin.js';

const RESTORE_TIMEOUT_S = 50;

/** Shell commands that bring an instance to life, its file systems mounted already: each is tried when the one before failed. */
export function startCommands(
  host: LinuxHost,
  entry: InstanceEntry,
  origin: Origin,
  config: OciConfig,
): string[] {
  const { paths } = host;
  const bundle = join(paths.store, 'i', entry.name);
  const work = join(bundle, 'wk');
  const call = (runtime: string, verb: string) =>
    `${quote(runtime)} --root ${quote(paths.oci)} --log ${quote(join(work, 'oci.log'))} ${verb} --bundle ${quote(bundle)} --pid-file ${quote(join(bundle, 'pid'))} --detach ${entry.name}`;
  if (origin.kind === 'checkpoint' && origin.memory) {
    const images = join(paths.store, `c/${origin.checkpointId}/img`);
    if (restoresItself(host)) return [restoreInCgroup(host, entry, { images, work, config })];
    const verb = `restore --image-path ${quote(images)} --work-path ${quote(work)}`;
    return [`timeout -s KILL ${RESTORE_TIMEOUT_S} ${call(host.runtime, verb)}`];
  }
  const first = call(host.starter, 'run');
  if (host.starter === host.runtime) return [first];
  // The quicker runtime is the pickier one about a host's cgroups.
  return [first, `{ rm -rf ${quote(join(paths.oci, entry.name))}; ${call(host.runtime, 'run')}; }`];
}

/** Whether the driver calls CRIU for a restore, and so has to make the cgroup before. */
export function restoresItself({ cgroups, options }: LinuxHost): boolean {
  return cgroups.version === 1 && options.restoreBy !== 'runtime';
}

/** Without the three programs that the OCI runtime starts first. Restored processes stay in the cgroup that CRIU is in. */
function restoreInCgroup(
  host: LinuxHost,
  entry: InstanceEntry,
  { images, work, config }: { images: string; work: string; config: OciConfig },
): string {
  const enter = host.cgroups.directoriesOf(entry.name).map((path) => `echo 0 > ${quote(path)}/cgroup.procs`);
  const restore = criuCommand(host, entry, {
    action: 'restore',
    images,
    work,
    external: mountsToFind(config),
    timeoutS: RESTORE_TIMEOUT_S,
    more: [
      ...['--restore-detached', '--pidfile', join(host.paths.store, 'i', entry.name, 'pid')],
      ...['--evasive-devices', '--weak-sysctls'],
    ],
  });
  return `( ${enter.join(' && ')} && exec ${restore} )`;
}

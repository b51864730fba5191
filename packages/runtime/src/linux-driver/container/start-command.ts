import { join } from 'node:path';
import { criuCommand } from '../criu/criu-command.js';
import { mountsToFind } from '../criu/external-mounts.js';
import { imagesFor, imagesView } from '../criu/images-for.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { OciConfig } from '../oci/oci-config.js';
import type { InstanceEntry } from '../state/records.js';
import type { Origin, StartCommand } from '../tiers/tier.js';

const RESTORE_TIMEOUT_S = 50;

export function startCommand(
  host: LinuxHost,
  entry: InstanceEntry,
  origin: Origin,
  config: OciConfig,
): StartCommand {
  const { paths } = host;
  const bundle = join(paths.store, 'i', entry.name);
  const work = join(bundle, 'wk');
  const call = (runtime: string, verb: string, ...options: string[]) => [
    ...[runtime, '--root', paths.oci, '--log', join(work, 'oci.log'), verb, ...options],
    ...['--bundle', bundle, '--pid-file', join(bundle, 'pid'), '--detach', entry.name],
  ];
  if (origin.kind === 'checkpoint' && origin.memory) {
    const images = imagesFor(host, entry, origin.images);
    const view = imagesView(entry.name);
    if (restoresItself(host)) return { ...restoreInCgroup(host, entry, { view, work, config }), images };
    const restore = call(host.runtime, 'restore', '--image-path', view, '--work-path', work);
    return { command: ['timeout', '-s', 'KILL', String(RESTORE_TIMEOUT_S), ...restore], images };
  }
  const command = call(host.starter, 'run');
  const fallback = host.starter === host.runtime ? {} : { fallback: host.runtime };
  return { command, ...fallback, limitsUsers: true };
}

/** Returns true if the driver calls CRIU for a restore, and so has to make the cgroup before. */
function restoresItself({ cgroups, options }: LinuxHost): boolean {
  return cgroups.version === 1 && options.restoreBy !== 'runtime';
}

/** Without the three programs that the OCI runtime starts first. Restored processes stay in the cgroup that CRIU is in. */
function restoreInCgroup(
  host: LinuxHost,
  entry: InstanceEntry,
  { view, work, config }: { view: string; work: string; config: OciConfig },
): StartCommand {
  const command = criuCommand(host, entry, {
    action: 'restore',
    root: config.root.path,
    images: view,
    work,
    external: mountsToFind(config),
    timeoutS: RESTORE_TIMEOUT_S,
    more: [
      ...['--restore-detached', '--pidfile', join(host.paths.store, 'i', entry.name, 'pid')],
      ...['--evasive-devices', '--weak-sysctls'],
    ],
  });
  return { command, cgroup: config.linux.resources };
}

import { join } from 'node:path';
import type { LinuxHost } from '../host/linux-host.js';
import type { InstanceEntry } from '../state/records.js';

export interface CriuCall {
  action: 'dump' | 'restore';
  /** Where the instance's root is mounted. */
  root: string;
  /** Directories in the store. */
  images: string;
  work: string;
  /** Of mounts whose content is not in the images. */
  external: readonly string[];
  /** CRIU is known to hang, and must not outlive a server that was killed meanwhile. */
  timeoutS: number;
  /** Further arguments. */
  more: readonly string[];
}

/** Command line by which CRIU stores or restores an instance, as the OCI runtime would call it; its log is in `work`. */
export function criuCommand(host: LinuxHost, entry: InstanceEntry, call: CriuCall): string[] {
  const bundle = join(host.paths.store, 'i', entry.name);
  return [
    ...['timeout', '-s', 'KILL', `${call.timeoutS}`, join(host.criu!, 'criu'), call.action],
    ...['--no-default-config', '--config', join(bundle, 'criu.conf'), '--root', call.root],
    ...['--images-dir', call.images, '--work-dir', call.work, '--log-file', `${call.action}.log`, '-v2'],
    ...['--empty-ns', 'net', ...call.external.flatMap((mount) => ['--external', mount]), ...call.more],
  ];
}

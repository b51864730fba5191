import { join } from 'node:path';
import type { Paths } from '../state/paths.js';

/** Command line of gVisor's runtime for one instance, up to the verb. */
export function runscCommand(runsc: string, paths: Paths, name: string): string[] {
  return [
    runsc,
    ...['--root', join(paths.oci, name), '--log', join(paths.store, 'i', name, 'wk/oci.log')],
    ...['--platform=systrap', '--network=sandbox'],
    // Files are written to the instance's own disk, and its cgroup is made by the driver.
    ...['--overlay2=none', '--ignore-cgroups'],
    // Else nothing that had a connection within the last minute could be stored. Open ones end then, those of the source too;
    // those of a program with itself, over the loopback interface, stay.
    '--net-disconnect-ok',
  ];
}

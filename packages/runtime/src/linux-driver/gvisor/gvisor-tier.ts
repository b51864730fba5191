import { writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Tools } from '../../host/tools.js';
import type { LinuxHost } from '../host/linux-host.js';
import { SCRIPTS } from '../namespace/script-shell.js';
import type { Paths } from '../state/paths.js';
import type { OciTier } from '../tiers/tier.js';
import { GuestNameWriter, nameGuest } from './guest-name.js';
import { gvisorConfig, gvisorResources, meminfo } from './gvisor-config.js';
import { letGo, storeMemory } from './store-memory.js';

const START_TIMEOUT_S = 50;
/** Sandboxes on a kernel of their own, gVisor's, which runs as a program without rights; memory by its own checkpoints. */
export function gvisorTier(
  host: LinuxHost,
  { runsc, runscProblem }: Pick<Tools, 'runsc' | 'runscProblem'>,
): OciTier {
  const { paths } = host;
  const command = (name: string) => runscCommand(runsc ?? 'runsc', paths, name);
  return {
    isolation: 'gvisor',
    // Its users are numbers in a kernel of its own.
    ownIds: false,
    problem: runscProblem,
    memoryProblem: runscProblem,
    bundle: (entry, config) => gvisorConfig(config, `/run/netns/${entry.name}`),
    start(entry, origin, config) {
      const bundle = join(paths.store, 'i', entry.name);
      const total = Math.min(config.linux.resources.memory?.limit ?? Infinity, totalmem());
      writeFileSync(host.store.view(`i/${entry.name}/meminfo`), meminfo(total));
      const verb =
        origin.kind === 'checkpoint' && origin.memory ? ['restore', '--image-path', origin.images] : ['run'];
      return {
        command: [
          ...['timeout', '-s', 'KILL', String(START_TIMEOUT_S)],
          ...['unshare', '-m', 'sh', `${SCRIPTS}/gvisor-start.sh`, join(bundle, 'meminfo')],
          ...command(entry.name),
          ...verb,
          ...['--bundle', bundle, '--pid-file', join(bundle, 'pid'), '--detach', entry.name],
        ],
        cgroup: gvisorResources(config.linux.resources),
        networkFirst: true,
      };
    },
    requireStorable: async () => undefined,
    storeMemory: (keeper, entry, options) => storeMemory(host, keeper, command(entry.name), entry, options),
    letGo: (entry) => letGo(host, command(entry.name), entry),
    nameWriter: (entry) => GuestNameWriter.start(host, command(entry.name), entry),
    nameRestored: (entry, name) => nameGuest(host, command(entry.name), entry, name),
  };
}

/** Command line of gVisor's runtime for one instance, up to the verb. */
function runscCommand(runsc: string, paths: Paths, name: string): string[] {
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

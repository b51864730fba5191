import { DriverError } from '../../contract/errors.js';
import { dumpMemory } from '../criu/dump-memory.js';
import { requireDistinctMappings } from '../criu/duplicate-mappings.js';
import { freezeForDump } from '../criu/quiesce.js';
import { findUndumpable } from '../criu/undumpable.js';
import type { LinuxHost } from '../host/linux-host.js';
import type { OciTier } from '../tiers/tier.js';
import { HostnameWriter } from './hostname-writer.js';
import { startCommand } from './start-command.js';

/**
 * Sandboxes on the host's kernel: namespaces and cgroups by runc or crun, memory by CRIU.
 * @param memoryProblem why memory cannot be stored here.
 */
export function containerTier(host: LinuxHost, memoryProblem: string | undefined): OciTier {
  return {
    isolation: 'container',
    ownIds: true,
    problem: undefined,
    memoryProblem,
    bundle: (_entry, config) => config,
    start: (entry, origin, config) => startCommand(host, entry, origin, config),
    async requireStorable(entry) {
      const found = await findUndumpable(entry.pid!, host.cgroups.pids(entry.name), host.cgroups.version);
      if (found.length > 0)
        throw new DriverError(
          'undumpable',
          `The memory of the sandbox cannot be stored: ${found.join('; ')}.`,
        );
    },
    storeMemory: (keeper, entry, { draft, images, onQuiesced }) =>
      dumpMemory(host, keeper, entry, {
        draft,
        images,
        freeze: async () => {
          onQuiesced();
          await freezeForDump(host.cgroups, entry.name);
          await requireDistinctMappings(host.cgroups.pids(entry.name));
        },
      }),
    async letGo(entry) {
      host.cgroups.thaw(entry.name);
    },
    nameWriter: async (entry) => new HostnameWriter(entry.pid!),
    // Its restore does that before the first program runs again.
    nameRestored: async () => undefined,
  };
}

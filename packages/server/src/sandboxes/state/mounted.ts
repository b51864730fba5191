import { configOf } from './config.js';
import type { LiveSandboxes } from './live.js';

/** Whether a sandbox of this process that has an instance, or is getting or losing one, has a volume mounted. */
export function isMounted(sandboxes: LiveSandboxes, volumeId: string): boolean {
  return mountedVolumes(sandboxes).has(volumeId);
}

/** Ids of the volumes that sandboxes of this server, running or about to run, have mounted. */
export function mountedVolumes(sandboxes: LiveSandboxes): Set<string> {
  const ids = new Set<string>();
  for (const { row, instance, transition } of sandboxes.values()) {
    if (instance === undefined && transition === undefined) continue;
    for (const { volumeId } of configOf(row).mounts) ids.add(volumeId);
  }
  return ids;
}

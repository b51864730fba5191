import { configOf } from '../sandbox-state/config.js';
import type { LiveSandboxes } from '../sandbox-state/live.js';

/** Whether a sandbox of this process that has an instance, or is getting or losing one, has a volume mounted. */
export function isMounted(sandboxes: LiveSandboxes, volumeId: string): boolean {
  for (const { row, instance, transition } of sandboxes.values()) {
    if (instance === undefined && transition === undefined) continue;
    if (configOf(row).mounts.some((mount) => mount.volumeId === volumeId)) return true;
  }
  return false;
}

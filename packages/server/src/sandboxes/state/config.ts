import { fromJson, type Json, toJson } from '../../storage/json.js';
import type { SandboxConfig } from '../../storage/json-shapes.js';
import type { LiveSandboxes } from './live.js';

const cache = new WeakMap<object, SandboxConfig>();

/** The configuration of a row, parsed once per row object. */
export function configOf(row: { config: Json<SandboxConfig> }): SandboxConfig {
  let parsed = cache.get(row);
  if (parsed === undefined) {
    parsed = fromJson(row.config);
    cache.set(row, parsed);
  }
  return parsed;
}

type Configured = { config: Json<SandboxConfig> };

/** Returns whether a sandbox was stored to continue on another node. */
export function isMoving(row: Configured): boolean {
  return configOf(row).moving === true;
}

/** A change of the row that says so. */
export function movingPatch(row: Configured): Configured {
  return { config: toJson({ ...configOf(row), moving: true }) };
}

/** A change of the row that takes it back; none where nothing says so. */
export function notMovingPatch(row: Configured): Partial<Configured> {
  const { moving, ...config } = configOf(row);
  return moving === true ? { config: toJson(config) } : {};
}

/** Returns whether a sandbox of this process that has an instance, or is getting or losing one, has a volume mounted. */
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

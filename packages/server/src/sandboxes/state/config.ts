import { fromJson, type Json, toJson } from '../../storage/json.js';
import type { SandboxConfig } from '../../storage/json-shapes.js';

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

/** Whether a sandbox was stored to go on on another node. */
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

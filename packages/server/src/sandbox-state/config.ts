import { fromJson, type Json } from '../storage/json.js';
import type { SandboxConfig } from '../storage/json-shapes.js';

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

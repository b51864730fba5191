import type { Capability } from '../capability.js';
import type { Case } from '../case.js';

/** Capabilities that drivers may have. */
const OF_DRIVERS: ReadonlySet<Capability> = new Set([
  'memory',
  'isolation',
  'users',
  'mounts',
  'internet',
  'egress',
]);
/** Areas whose answers come out of a sandbox. */
const INSIDE = new Set([
  'connect protocol',
  'egress',
  'files',
  'filesystem',
  'gateway',
  'memory',
  'observation',
  'process',
]);
/** Areas whose successes start, change or end sandboxes; what they refuse is refused before a driver is asked. */
const AROUND = new Set(['create', 'lifecycle', 'lists', 'templates', 'volumes']);

/** Returns true for cases in which the driver decides the answer, so that each driver has to be tried. */
export function decidedByDriver({ area, expects, needs = [] }: Case): boolean {
  // The servers that these cases start run the process driver, for any target.
  if (needs.includes('servers')) return false;
  if (needs.some((need) => OF_DRIVERS.has(need)) || INSIDE.has(area)) return true;
  return AROUND.has(area) && expects.startsWith('success');
}

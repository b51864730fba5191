import type { ArchiveLimits } from '../archive/archive-limits.js';
import type { PoolRequest } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import type { InstanceMount, InstanceSpec } from '../contract/instance.js';
import type { VolumeOwnership } from '../contract/volumes.js';
import { requireLayerId, requireVolumeId } from '../shared/instance-id.js';
import { requireLabels } from '../shared/spec-rules.js';

// The requests of the server are checked again where the rights of root are: a server that was taken over must gain nothing
// but what any server may ask for. Drivers have rules of their own beside these.

const MAX_LAYERS = 500;
const MAX_MOUNTS = 64;
const MAX_PATH_BYTES = 4_096;
const MAX_POOL = 10_000;
const MAX_IDS = 1_000_000;
/** Sandboxes that are looked at in one go: nobody else is served meanwhile. */
export const MAX_STATS = 64;

const refuse = (message: string) => new DriverError('invalid_spec', message);

/** Ranges of what a specification may ask for; whole numbers but for the cores. */
const LIMITS = {
  cpuCount: { least: 0.01, most: 4_096, whole: false },
  memoryMiB: { least: 1, most: 2 ** 30, whole: true },
  diskMiB: { least: 1, most: 2 ** 30, whole: true },
  pids: { least: 1, most: 2 ** 22, whole: true },
} as const;

/**
 * Checks a specification.
 * @throws {DriverError} `invalid_spec`, `not_found` for what cannot be a layer
 */
export function checkSpec(spec: InstanceSpec): InstanceSpec {
  if (spec.layers.length > MAX_LAYERS) throw refuse(`There are more than ${MAX_LAYERS} layers.`);
  for (const layer of spec.layers) requireLayerId(layer);
  for (const name of Object.keys(LIMITS) as (keyof typeof LIMITS)[]) {
    const value = spec.limits[name];
    if (value !== undefined) checkNumber(name, value, LIMITS[name]);
  }
  if (spec.mounts.length > MAX_MOUNTS) throw refuse(`There are more than ${MAX_MOUNTS} mounts.`);
  for (const mount of spec.mounts) checkMount(mount);
  requireLabels(spec.labels);
  return spec;
}

function checkMount({ volumeId, target }: InstanceMount): void {
  if (!isCleanPath(target) || target === '/')
    throw refuse('The target of a mount is not a clean absolute path.');
  // Nothing else of the host is the other side's to give.
  if (volumeId === undefined) throw refuse('The source of a mount is no volume.');
  requireVolumeId(volumeId);
}

/** Absolute, every part a name, nothing that a configuration file or a script could take for something else. */
export function isCleanPath(path: string): boolean {
  if (path === '/') return true;
  if (!path.startsWith('/') || Buffer.byteLength(path) > MAX_PATH_BYTES || /[\0\n\r]/.test(path))
    return false;
  return path
    .slice(1)
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..');
}

/** @throws {DriverError} `invalid_spec` */
export function checkNumber(
  name: string,
  value: number,
  { least, most, whole }: { least: number; most: number; whole: boolean },
): number {
  if (!(value >= least && value <= most) || (whole && !Number.isInteger(value)))
    throw refuse(`${name} must be a ${whole ? 'whole ' : ''}number between ${least} and ${most}.`);
  return value;
}

/** @throws {DriverError} `invalid_spec` */
export function checkPool(requests: PoolRequest[]): PoolRequest[] {
  const total = requests.reduce((sum, { size }) => sum + size, 0);
  if (requests.length > MAX_POOL || total > MAX_POOL)
    throw refuse(`The pool would have more than ${MAX_POOL} instances.`);
  for (const { spec } of requests) checkSpec(spec);
  return requests;
}

/** Limits may be stricter or wider than the driver's own. @throws {DriverError} `invalid_spec` */
export function checkArchiveLimits(limits: Partial<ArchiveLimits>): Partial<ArchiveLimits> {
  for (const [name, value] of Object.entries(limits))
    checkNumber(name, value, { least: 1, most: Number.MAX_SAFE_INTEGER, whole: false });
  return limits;
}

/** @throws {DriverError} `invalid_spec` */
export function checkVolumeLimit(limitMiB: number | undefined): { limitMiB?: number } {
  if (limitMiB === undefined) return {};
  return { limitMiB: checkNumber('limitMiB', limitMiB, LIMITS.diskMiB) };
}

/** Ids of instances or checkpoints that are to be kept: any text, for one that belongs to nothing keeps nothing. */
export function checkKept(ids: readonly string[]): string[] {
  if (ids.length > MAX_IDS) throw refuse(`There are more than ${MAX_IDS} ids.`);
  return [...ids];
}

/** @throws {DriverError} `invalid_spec` */
export function checkStatsHandles(handles: readonly string[]): readonly string[] {
  if (handles.length > MAX_STATS) throw refuse(`There are more than ${MAX_STATS} handles.`);
  return handles;
}

const OWNERSHIP = {
  uid: { least: 0, most: 0xffff_ffff, whole: true },
  gid: { least: 0, most: 0xffff_ffff, whole: true },
  mode: { least: 0, most: 0o7777, whole: true },
} as const;

/** @throws {DriverError} `invalid_spec` */
export function checkOwnership(owner: VolumeOwnership): VolumeOwnership {
  for (const name of Object.keys(OWNERSHIP) as (keyof typeof OWNERSHIP)[])
    if (owner[name] !== undefined) checkNumber(name, owner[name], OWNERSHIP[name]);
  return owner;
}

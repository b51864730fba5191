import { DriverError } from '../../contract/errors.js';
import type { InstanceMount } from '../../contract/instance.js';
import { volumeName } from '../keys.js';

/** The devices and config of an instance with volumes mounted. */
export interface PlacedMounts {
  /** The member that has the volumes. Undefined: there are none, or no cluster. */
  location: string | undefined;
  devices: Record<string, Record<string, string>>;
}

/** Of an instance without volumes. */
export const NO_MOUNTS: PlacedMounts = { location: undefined, devices: {} };

/**
 * Where an instance has to run that mounts volumes, and its devices. Pure.
 * @param locations member of each volume, by id; `none` where there is no cluster
 * @throws {DriverError} `invalid_spec` for one that is not there, and for volumes of several members
 */
export function placeMounts(
  mounts: readonly InstanceMount[],
  { pool, locations }: { pool: string; locations: ReadonlyMap<string, string> },
): PlacedMounts {
  const devices: PlacedMounts['devices'] = {};
  const members = new Set<string>();
  for (const [index, { volumeId, target, readOnly = false }] of mounts.entries()) {
    const location = volumeId === undefined ? undefined : locations.get(volumeId);
    if (volumeId === undefined || location === undefined)
      throw new DriverError('invalid_spec', 'A volume that is to be mounted is not there.');
    members.add(location);
    devices[mountDevice(index)] = {
      type: 'disk',
      pool,
      source: volumeName(volumeId),
      path: target,
      ...(readOnly ? { readonly: 'true' } : {}),
    };
  }
  const [location, another] = members;
  if (another !== undefined)
    throw new DriverError(
      'invalid_spec',
      'The volumes lie on different machines: one sandbox cannot mount them together.',
    );
  return { location: location === 'none' ? undefined : location, devices };
}

/** Devices that take the mounts away from a copy of an instance. Pure. */
export function withoutMounts(
  devices: Record<string, Record<string, string>>,
): Record<string, Record<string, string>> {
  const mounted = Object.keys(devices).filter((name) => /^volume\d+$/.test(name));
  return Object.fromEntries(mounted.map((name) => [name, { type: 'none' }]));
}

function mountDevice(index: number): string {
  return `volume${index}`;
}

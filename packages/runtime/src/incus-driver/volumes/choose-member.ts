import { createHash } from 'node:crypto';
import { DriverError } from '../../contract/errors.js';
import type { WireMember, WireVolumePlace } from '../wire.js';

/**
 * The member that a new volume is made on: of those that take something, one with the fewest volumes. Undefined where there is
 * no cluster. Pure.
 * @throws {DriverError} `no_capacity` when no member takes anything
 */
export function chooseMember(
  members: readonly WireMember[],
  volumes: readonly Pick<WireVolumePlace, 'location'>[],
  id: string,
): string | undefined {
  if (members.length === 0) return undefined;
  const counted = members
    .filter(({ status }) => status === 'Online')
    .map(({ server_name: name }) => ({
      name,
      count: volumes.filter(({ location }) => location === name).length,
      // Servers that make volumes at the same moment do not all take the first.
      order: createHash('sha256').update(`${name}/${id}`).digest('hex'),
    }))
    .sort((a, b) => a.count - b.count || (a.order < b.order ? -1 : 1));
  const [chosen] = counted;
  if (chosen === undefined)
    throw new DriverError('no_capacity', 'No machine of the cluster can take another volume.');
  return chosen.name;
}

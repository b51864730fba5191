import { DriverError } from '../../contract/errors.js';
import type { InstanceNetwork } from '../../contract/instance.js';
import type { CardMode } from './card-name.js';

/**
 * The card that gives a sandbox the network that was asked for. Pure.
 * @param fenced whether the operator says that the members have the fence.
 * @throws {DriverError} `unsupported` with the reason
 */
export function requireNetwork({ egress }: InstanceNetwork, { fenced }: { fenced: boolean }): CardMode {
  if (egress === 'governed')
    throw new DriverError('unsupported', 'Nothing here decides by policy what a sandbox may reach.');
  if (egress === 'none' && !fenced)
    throw new DriverError('unsupported', 'Sandboxes of this service cannot be kept from the network.');
  return egress;
}

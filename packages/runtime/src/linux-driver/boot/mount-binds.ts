import type { InstanceMount } from '../../contract/instance.js';
import type { BoundMount } from '../oci/oci-config.js';
import { bindsOf } from '../state/mount-points.js';

/** The mounts of an instance with what the OCI runtime binds instead of the directories themselves: binds of them. */
export function boundMounts(name: string, mounts: readonly InstanceMount[]): BoundMount[] {
  return mounts.map(({ target, readOnly = false }, index) => ({
    target,
    readOnly,
    source: `${bindsOf(name)}/${index}`,
  }));
}

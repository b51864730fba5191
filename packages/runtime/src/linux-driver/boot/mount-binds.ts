import type { InstanceMount } from '../../contract/instance.js';
import type { BoundMount } from '../oci/oci-config.js';

/** Directory of the binds of an instance's mounts, in the keeper's namespace. */
export function bindsOf(name: string): string {
  return `/run/mounts/${name}`;
}

/** The mounts of an instance with what the OCI runtime binds instead of the directories themselves: binds of them. */
export function boundMounts(name: string, mounts: readonly InstanceMount[]): BoundMount[] {
  return mounts.map(({ target, readOnly = false }, index) => ({
    target,
    readOnly,
    source: `${bindsOf(name)}/${index}`,
  }));
}

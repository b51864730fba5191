import type { InstanceMount } from '../../contract/instance.js';

/** Directory of the binds of an instance's mounts, in the keeper's namespace. */
export function bindsOf(name: string): string {
  return `/run/mounts/${name}`;
}

/** The mounts of an instance with what the OCI runtime binds instead of the directories themselves: binds of them. */
export function boundMounts(name: string, mounts: readonly InstanceMount[]): InstanceMount[] {
  return mounts.map((mount, index) => ({ ...mount, source: `${bindsOf(name)}/${index}` }));
}

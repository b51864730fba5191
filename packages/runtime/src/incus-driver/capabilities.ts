import type { Capabilities } from '../contract/capabilities.js';

/** @param diskLimit whether the storage pool has quotas. */
export function incusCapabilities({ diskLimit }: { diskLimit: boolean }): Capabilities {
  return {
    isolation: 'container',
    limits: true,
    diskLimit,
    memorySnapshot: false,
    mounts: false,
    networkIsolation: false,
    egressPolicy: false,
    layers: 'rootfs',
    users: true,
    reasons: [
      'Incus restores no memory of system containers: pause to disk, snapshots and forks keep files only.',
      'Incus has access lists for network cards on bridges and OVN alone, and sandboxes have routed ones, by which every machine is reached: the network "none" and rules for addresses are refused. What sandboxes reach besides is up to the firewall of the members.',
      'The egress process is not in the way of the traffic of Incus instances: network policies are refused.',
      'Volumes stay on the machine of this server and cannot be mounted into sandboxes on other machines.',
      ...(diskLimit ? [] : ['The storage pool has no quotas (a dir pool): disk limits are not enforced.']),
    ],
  };
}

import type { Capabilities } from '../contract/capabilities.js';

export interface IncusAbilities {
  /** The storage pool has quotas. */
  diskLimit: boolean;
  /** The operator says that every member has the fence. */
  fenced: boolean;
  /** Why volumes cannot be mounted. Undefined: they can. */
  mountProblem: string | undefined;
}

export function incusCapabilities({ diskLimit, fenced, mountProblem }: IncusAbilities): Capabilities {
  return {
    isolation: 'container',
    limits: true,
    diskLimit,
    memorySnapshot: false,
    mounts: mountProblem === undefined,
    networkIsolation: fenced,
    egressPolicy: false,
    layers: 'rootfs',
    users: true,
    reasons: [
      'Incus restores no memory of system containers: pause to disk, snapshots and forks keep files only.',
      ...(fenced
        ? []
        : [
            'Incus keeps nothing from the routed network cards that sandboxes have. With the fence (fence.nft) on every member, and SVC_INCUS_FENCE=on, it can be kept from them; until then the network "none" is refused, and what sandboxes reach is up to the firewall of the members.',
          ]),
      'The egress process is not in the way of the traffic of Incus instances: rules for single hosts and addresses are refused.',
      ...(mountProblem === undefined ? [] : [mountProblem]),
      ...(diskLimit
        ? []
        : ['The storage pool has no quotas (a dir pool): limits of disks and volumes are not enforced.']),
    ],
  };
}

import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';

/** Inside the cluster's own network namespace, so it meets no network of the machine. */
const PREFIX = '10.77.';
const FIRST_MEMBER = 11;

export interface MemberPlan {
  name: string;
  directory: string;
  /** Of its Incus, on this machine. */
  socket: string;
  address: string;
}

export interface TrialPlan {
  directory: string;
  /** Names the cgroups of everything that runs for it. */
  mark: string;
  members: MemberPlan[];
  network: { prefix: string; gateway: string; bits: number; range: string; socket: string };
}

/** Where everything of a trial cluster is. Follows from its directory and size alone, so that it is found after any crash. Pure. */
export function planTrialCluster(directory: string, members: number): TrialPlan {
  const absolute = resolve(directory);
  const tag = createHash('sha256').update(absolute).digest('hex').slice(0, 8);
  return {
    directory: absolute,
    mark: `svc-cluster-${tag}`,
    members: Array.from({ length: members }, (_, index) => {
      const name = `m${index + 1}`;
      const at = join(absolute, name);
      return {
        name,
        directory: at,
        socket: join(at, 'incus/unix.socket'),
        address: `${PREFIX}0.${FIRST_MEMBER + index}`,
      };
    }),
    network: {
      prefix: PREFIX,
      gateway: `${PREFIX}0.1`,
      bits: 16,
      range: `${PREFIX}16.0/20`,
      socket: join(absolute, 'gateway.sock'),
    },
  };
}

/** The `address` of the `incus` driver: every member's socket. Pure. */
export function addressOf(plan: TrialPlan): string {
  return plan.members.map(({ socket }) => socket).join(',');
}

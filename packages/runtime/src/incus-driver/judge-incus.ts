import type { Finding } from '../host/finding.js';
import { FENCE_HELP } from './network/judge-fence.js';
import type { WireMember } from './wire.js';

/** The facts found about an Incus server or cluster. */
export interface IncusFacts {
  address: string;
  /** Why nothing useful answers there. Everything else is unknown then. */
  problem?: string | undefined;
  version?: string | undefined;
  trusted?: boolean | undefined;
  /** Missing extensions of its API that the driver needs. */
  missingExtensions?: readonly string[] | undefined;
  members?: readonly WireMember[] | undefined;
  pools?: readonly { name: string; driver: string }[] | undefined;
  /** As the settings or the project say. */
  pool?: string | undefined;
  parent?: string | undefined;
  range?: string | undefined;
  /** The operator says that the members have the fence. */
  fenced?: boolean | undefined;
  /** Name of the template base that is built on this machine. */
  base?: string | undefined;
}

/** Storage that counts what each instance has. */
export const QUOTA_DRIVERS: readonly string[] = ['btrfs', 'zfs', 'lvm', 'lvmcluster', 'ceph', 'linstor'];

/** Says of each thing that the `incus` driver needs whether it is there. Pure. */
export function judgeIncus(facts: IncusFacts): Finding[] {
  const { address, problem, version, trusted, missingExtensions = [], base } = facts;
  if (problem !== undefined) {
    return [
      missing(
        'incus',
        'driver',
        problem,
        'sudo svc cluster up   # a cluster on this machine alone, for trying',
      ),
    ];
  }
  if (trusted !== true) {
    const message = `Incus at ${address} does not know the client certificate of this server.`;
    return [missing('incus', 'driver', message, 'incus config trust add-certificate FILE   # on a member')];
  }
  return [
    missingExtensions.length === 0
      ? found('incus', 'driver', `Incus ${version} answers at ${address}.`)
      : missing(
          'incus',
          'driver',
          `Incus ${version} is too old: 6.0 or later is needed (${missingExtensions.join(', ')}).`,
        ),
    ...judgeMembers(facts.members ?? []),
    judgePool(facts),
    judgeNetwork(facts),
    judgeFenced(facts),
    base === undefined
      ? missing(
          'base',
          'baseTemplate',
          'The template base is not built on this machine.',
          'sudo svc server doctor --fix',
        )
      : found('base', 'baseTemplate', `The template base: ${base}; the driver makes an image of it.`),
  ];
}

function judgeMembers(members: readonly WireMember[]): Finding[] {
  if (members.length === 0) return [found('members', 'comfort', 'One server of its own, no cluster.')];
  const away = members.filter(({ status }) => status !== 'Online');
  if (away.length > 0) {
    const list = away.map(({ server_name: name, status }) => `${name} (${status})`).join(', ');
    return [
      missing(
        'members',
        'comfort',
        `Of ${members.length} members, not in use: ${list}.`,
        'incus cluster list',
      ),
    ];
  }
  return [
    members.length >= 3
      ? found('members', 'comfort', `${members.length} members, all online.`)
      : missing(
          'members',
          'comfort',
          `${members.length} members: a cluster survives the loss of one from three on.`,
        ),
  ];
}

function judgePool({ pools = [], pool }: IncusFacts): Finding {
  const chosen = pool ?? (pools.length === 1 ? pools[0]!.name : undefined);
  const known = pools.find(({ name }) => name === chosen);
  if (known === undefined) {
    const names = pools.map(({ name }) => name).join(', ') || 'none';
    return missing('pool', 'driver', `Name a storage pool of Incus (SVC_INCUS_POOL); there is: ${names}.`);
  }
  return QUOTA_DRIVERS.includes(known.driver)
    ? found('pool', 'diskLimit', `Storage pool ${known.name} (${known.driver}).`)
    : missing(
        'pool',
        'diskLimit',
        `Storage pool ${known.name} (${known.driver}) has no quotas; btrfs, zfs, lvm and ceph have.`,
      );
}

function judgeNetwork({ parent, range }: IncusFacts): Finding {
  return parent !== undefined && range !== undefined
    ? found('network', 'driver', `Sandboxes have addresses of ${range}, through ${parent} of each member.`)
    : missing(
        'network',
        'driver',
        'Name an interface that every member has (SVC_INCUS_PARENT), and free addresses in its network (SVC_INCUS_RANGE).',
      );
}

function judgeFenced({ fenced }: IncusFacts): Finding {
  return fenced === true
    ? found('fence', 'networkIsolation', 'The members are said to have the fence.')
    : missing(
        'fence',
        'networkIsolation',
        'Sandboxes cannot be kept from the network: load the fence on every member, then set SVC_INCUS_FENCE=on.',
        FENCE_HELP,
      );
}

function found(id: string, neededFor: Finding['neededFor'], message: string): Finding {
  return { id, ok: true, neededFor, message };
}

function missing(id: string, neededFor: Finding['neededFor'], message: string, fix?: string): Finding {
  return { id, ok: false, neededFor, message, ...(fix === undefined ? {} : { fix }) };
}

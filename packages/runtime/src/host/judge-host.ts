import type { Finding } from './finding.js';
import type { HostFacts, ProgramName } from './host-facts.js';
import type { HostLimit } from './host-limits.js';
import { CRIU_MINIMUM, suffices } from './programs.js';

const FREE_DISK_MINIMUM_BYTES = 2 * 2 ** 30;
const CONTROLLERS = ['cpu', 'memory', 'pids', 'freezer'];

/** Says of each thing that the `linux` driver needs whether the host has it. Pure. */
export function judgeHost(facts: HostFacts): Finding[] {
  if (facts.platform !== 'linux') {
    return [missing('linux', 'driver', `The linux driver needs Linux; this is ${facts.platform}.`)];
  }
  return [
    facts.root
      ? found('root', 'driver', 'The server runs as root.')
      : missing('root', 'driver', 'The server must run as root.', { fix: 'sudo svc server up' }),
    judgeRuntime(facts),
    ...(['unshare', 'nsenter', 'setpriv', 'mount'] as const).map((name) =>
      program(facts, name, 'driver', ['util-linux', 'mount']),
    ),
    program(facts, 'tar', 'driver', ['tar']),
    program(facts, 'timeout', 'driver', ['coreutils']),
    program(facts, 'ip', 'driver', ['iproute2']),
    program(facts, 'nft', 'driver', ['nftables']),
    switchable(
      facts.namespaces,
      'namespaces',
      'driver',
      'Namespaces can be made.',
      'The kernel or an outer container forbids new namespaces.',
    ),
    switchable(
      facts.overlay,
      'overlayfs',
      'driver',
      'overlayfs can be mounted.',
      'overlayfs cannot be mounted here.',
      'modprobe overlay',
    ),
    switchable(
      facts.userNamespaces,
      'user-namespaces',
      'driver',
      'User namespaces can be made.',
      'User namespaces are switched off.',
      'sysctl -w user.max_user_namespaces=65536',
    ),
    switchable(
      facts.ownIds,
      'own-ids',
      'ownIds',
      'File systems can be mounted with ids of their own.',
      "File systems cannot be mounted with ids of their own (Linux 5.19 or later and perl are needed): users in sandboxes have the numbers of the host's.",
    ),
    judgeControllers(facts),
    program(facts, 'mkfs.btrfs', 'diskLimit', ['btrfs-progs']),
    // Starts sandboxes in a third of the time that runc takes.
    program(facts, 'crun', 'comfort', ['crun']),
    switchable(
      facts.btrfs,
      'btrfs',
      'diskLimit',
      'The kernel knows btrfs.',
      'The kernel has no btrfs: no disk limits, and copies of file systems cost time.',
      'modprobe btrfs',
    ),
    ...judgeBase(facts),
    // Images of registries come through it.
    program(facts, 'skopeo', 'images', ['skopeo', 'ca-certificates']),
    judgeCriu(facts),
    ...judgeRunsc(facts),
    ...facts.limits.map(judgeLimit),
    judgeDisk(facts),
    judgeIoWeights(facts),
  ];
}

/** Runtimes that a Debian package has. */
const PACKAGED_RUNTIMES = ['runc', 'crun', 'runsc'];

function judgeRuntime({ ociRuntime, ociRuntimePath }: HostFacts): Finding {
  if (ociRuntimePath !== undefined) return found('oci-runtime', 'driver', `OCI runtime: ${ociRuntimePath}.`);
  const remedy = PACKAGED_RUNTIMES.includes(ociRuntime) ? apt([ociRuntime]) : {};
  return missing('oci-runtime', 'driver', `The OCI runtime ${ociRuntime} is missing.`, remedy);
}

function judgeControllers({ cgroupControllers }: HostFacts): Finding {
  const absent = CONTROLLERS.filter((name) => !cgroupControllers.includes(name));
  return absent.length === 0
    ? found('cgroups', 'limits', `cgroup controllers: ${CONTROLLERS.join(', ')}.`)
    : missing('cgroups', 'driver', `cgroup controllers are missing: ${absent.join(', ')}.`);
}

/** The template `base`, and what building it takes. */
function judgeBase(facts: HostFacts): Finding[] {
  const { base, baseRoot, programs } = facts;
  if (baseRoot === 'host')
    return [
      found('base', 'baseTemplate', "The template base shows the host's /usr, as chosen (base root host)."),
    ];
  if (base?.upToDate === true)
    return [found('base', 'baseTemplate', `The template base: ${base.name}, ${megabytes(base.sizeBytes)}.`)];
  const have =
    base === undefined ? 'The template base is not built yet' : `The template base is of an earlier version`;
  const finding = missing(
    'base',
    base === undefined ? 'baseTemplate' : 'comfort',
    `${have}; building it takes about a minute.`,
    {
      fix: 'svc server doctor --fix',
    },
  );
  const tool = program(facts, 'mmdebstrap', 'baseTemplate', ['mmdebstrap', 'debian-archive-keyring']);
  return programs.mmdebstrap === undefined ? [finding, tool] : [finding];
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function judgeCriu({ criuVersion, criuDirectory }: HostFacts): Finding {
  if (suffices(criuVersion)) {
    return found('criu', 'memorySnapshot', `CRIU ${criuVersion}.`);
  }
  const have = criuVersion === undefined ? 'There is no CRIU' : `CRIU ${criuVersion} is too old`;
  return missing(
    'criu',
    'memorySnapshot',
    `${have}; memory snapshots need ${CRIU_MINIMUM} or later (a private copy goes to ${criuDirectory}).`,
    {
      fix: 'svc server doctor --fix',
    },
  );
}

/** Says nothing where nobody asked for it. */
function judgeRunsc({ runscVersion, runscDirectory, isolation }: HostFacts): Finding[] {
  if (runscVersion !== undefined) return [found('gvisor', 'gvisor', `gVisor: runsc ${runscVersion}.`)];
  if (isolation !== 'gvisor') return [];
  return [
    missing(
      'gvisor',
      'driver',
      `There is no gVisor in ${runscDirectory}; sandboxes with a kernel of their own need it.`,
      { fix: 'svc server doctor --fix --isolation gvisor' },
    ),
  ];
}

function judgeLimit({ name, value, atLeast, enough, writable }: HostLimit): Finding {
  if (enough) return found(name, 'comfort', `${name} is ${value}.`);
  if (writable) return found(name, 'comfort', `${name} is ${value}; the server raises it to ${atLeast}.`);
  return missing(
    name,
    'comfort',
    `${name} is ${value} and cannot be raised from here: many sandboxes at once may fail.`,
    { fix: `sysctl -w ${name}=${atLeast}` },
  );
}

function judgeDisk({ freeDiskBytes }: HostFacts): Finding {
  if (freeDiskBytes === undefined)
    return missing('free-disk', 'comfort', 'The free disk space cannot be read.');
  const text = `${(freeDiskBytes / 2 ** 30).toFixed(1)} GiB of disk are free`;
  return freeDiskBytes >= FREE_DISK_MINIMUM_BYTES
    ? found('free-disk', 'comfort', `${text}.`)
    : missing('free-disk', 'comfort', `Only ${text}; 2 GiB or more are advised.`);
}

function judgeIoWeights({ ioWeights }: HostFacts): Finding {
  return ioWeights === undefined
    ? missing(
        'io-weights',
        'comfort',
        'No disk is scheduled by weight (bfq, io.cost): a sandbox that writes much slows the service down.',
        { fix: 'echo bfq > /sys/block/DISK/queue/scheduler' },
      )
    : found(
        'io-weights',
        'comfort',
        `Disks are scheduled by weight (${ioWeights}): sandboxes have half of the service's.`,
      );
}

function program(
  facts: HostFacts,
  name: ProgramName,
  neededFor: Finding['neededFor'],
  packages: string[],
): Finding {
  const path = facts.programs[name];
  return path === undefined
    ? missing(name, neededFor, `The program ${name} is missing.`, apt(packages))
    : found(name, neededFor, `${name}: ${path}.`);
}

function switchable(
  ok: boolean,
  id: string,
  neededFor: Finding['neededFor'],
  yes: string,
  no: string,
  fix?: string,
): Finding {
  return ok ? found(id, neededFor, yes) : missing(id, neededFor, no, fix === undefined ? {} : { fix });
}

function apt(packages: string[]): Pick<Finding, 'fix' | 'packages'> {
  return { packages, fix: `apt-get install -y --no-install-recommends ${packages.join(' ')}` };
}

function found(id: string, neededFor: Finding['neededFor'], message: string): Finding {
  return { id, ok: true, neededFor, message };
}

function missing(
  id: string,
  neededFor: Finding['neededFor'],
  message: string,
  remedy: Pick<Finding, 'fix' | 'packages'> = {},
): Finding {
  return { id, ok: false, neededFor, message, ...remedy };
}

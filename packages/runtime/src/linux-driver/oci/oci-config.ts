import type { InstanceLimits, InstanceMount } from '../../contract/instance.js';
import { MESSAGE_QUEUES } from '../../host/host-limits.js';
import { IDS } from '../ids/id-ranges.js';
import { HIDDEN_OF_PROC, sysMounts } from './hidden-paths.js';
import { seccompProfile } from './seccomp.js';

/** A mount whose source is a path. */
export type BoundMount = Pick<InstanceMount, 'target' | 'readOnly'> & { source: string };

export interface OciConfigInput {
  hostname: string;
  /** Merged root file system. */
  root: string;
  /** The source of `/usr` when that is an overlay of its own. A bind mount, or CRIU would try to mount it itself. */
  usr: string | undefined;
  /** Directory with the daemon; appears as `/.sbx`. */
  agent: string;
  args: string[];
  cgroupsPath: string;
  criuConfig: string;
  limits: InstanceLimits;
  /** The kernel accounts swap, so that a memory limit can cover it. */
  swapAccounting: boolean;
  mounts: BoundMount[];
  /** First of the 65,536 host ids that are its own. Undefined: it has the host's. */
  firstId: number | undefined;
  /** Files that replace those of `/proc` and `/sys` that describe the whole host. Default none. */
  shares?: BoundMount[];
  /** Root inside may open raw sockets. */
  rawSockets: boolean;
  /** The number of message queues can be limited. */
  limitsQueues: boolean;
  /** Highest number of open files that this host lets us give. */
  maxOpenFiles: number;
  arch: string;
}

const CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETGID',
  'CAP_SETPCAP',
  'CAP_SETUID',
  'CAP_SYS_CHROOT',
];

/** The capabilities that container engines give by default beside these. */
const CAPABILITIES_WITH_OWN_IDS = ['CAP_AUDIT_WRITE', 'CAP_MKNOD', 'CAP_SETFCAP'];

/** Device numbers a sandbox may use: null, zero, full, random, urandom, tty, ptmx, pts. */
const DEVICES: [major: number, minor?: number][] = [
  [1, 3],
  [1, 5],
  [1, 7],
  [1, 8],
  [1, 9],
  [5, 0],
  [5, 2],
  [136],
];

/** The sandbox's `/dev` without its nodes, in the keeper's namespace. */
const DEV = '/run/dev';
/** The nodes, bound read-only, so that root inside cannot change the host's. */
const NODES = '/run/nodes';

/** All groups that a sandbox has may open ICMP sockets. @param firstId of the groups, in the numbering of the writer. */
export function pingGroups(firstId = 0): string {
  return `${firstId} ${firstId + IDS - 1}`;
}

/** Where memory runs out on the whole host, programs of sandboxes end before the service does. */
const OOM_SCORE_ADJUSTMENT = 800;

/** CPU time is dealt out in slices of this length, microseconds. */
export const CPU_PERIOD_US = 100_000;

/** The OCI runtime configuration of one instance. */
export function ociConfig(input: OciConfigInput) {
  const { limits } = input;
  const memoryBytes = limits.memoryMiB === undefined ? undefined : limits.memoryMiB * 1024 * 1024;
  const capabilities = [
    ...CAPABILITIES,
    ...(input.firstId === undefined ? [] : CAPABILITIES_WITH_OWN_IDS),
    ...(input.rawSockets ? ['CAP_NET_RAW'] : []),
  ];
  const mapping = [{ containerID: 0, hostID: input.firstId ?? 0, size: IDS }];
  return {
    ociVersion: '1.0.0',
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: input.args,
      cwd: '/',
      env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root'],
      // Root that a set-uid program makes is nobody on the host, where it has ids of its own.
      noNewPrivileges: input.firstId === undefined,
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      oomScoreAdj: OOM_SCORE_ADJUSTMENT,
      rlimits: [
        { type: 'RLIMIT_NOFILE', hard: input.maxOpenFiles, soft: Math.min(input.maxOpenFiles, 65_536) },
        { type: 'RLIMIT_CORE', hard: 0, soft: 0 },
      ],
    },
    root: { path: input.root, readonly: false },
    hostname: input.hostname,
    mounts: [
      ...(input.usr === undefined
        ? []
        : [{ destination: '/usr', type: 'bind', source: input.usr, options: ['bind', 'rw', 'nodev'] }]),
      { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
      { destination: '/dev', type: 'bind', source: DEV, options: ['bind', 'ro'] },
      ...['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => ({
        destination: `/dev/${name}`,
        type: 'bind',
        source: `${NODES}/${name}`,
        options: ['bind', 'ro'],
      })),
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'],
      },
      {
        destination: '/dev/shm',
        type: 'tmpfs',
        source: 'shm',
        options: ['nosuid', 'noexec', 'nodev', 'mode=1777', 'size=65536k'],
      },
      {
        destination: '/dev/mqueue',
        type: 'mqueue',
        source: 'mqueue',
        options: ['nosuid', 'noexec', 'nodev'],
      },
      ...sysMounts(),
      ...(input.shares ?? []).map(({ target, source }) => ({
        destination: target,
        type: 'bind',
        source,
        options: ['bind', 'ro', 'nosuid', 'noexec', 'nodev'],
      })),
      {
        destination: '/.sbx',
        type: 'bind',
        source: input.agent,
        options: ['bind', 'ro', 'nosuid', 'nodev'],
      },
      ...input.mounts.map((mount) => ({
        destination: mount.target,
        type: 'bind',
        source: mount.source,
        options: ['bind', mount.readOnly === true ? 'ro' : 'rw', 'nosuid', 'nodev'],
      })),
    ],
    annotations: { 'org.criu.config': input.criuConfig },
    linux: {
      cgroupsPath: input.cgroupsPath,
      // The network namespace has no path: it must belong to the instance's own user namespace.
      namespaces: ['pid', 'mount', 'uts', 'ipc', 'network', 'user'].map((type) => ({ type })),
      uidMappings: mapping,
      gidMappings: mapping,
      resources: {
        ...(memoryBytes === undefined
          ? {}
          : { memory: { limit: memoryBytes, ...(input.swapAccounting ? { swap: memoryBytes } : {}) } }),
        ...(limits.cpuCount === undefined
          ? {}
          : { cpu: { quota: Math.round(limits.cpuCount * CPU_PERIOD_US), period: CPU_PERIOD_US } }),
        ...(limits.pids === undefined ? {} : { pids: { limit: limits.pids } }),
        devices: [
          { allow: false, access: 'rwm' },
          ...DEVICES.map(([major, minor]) => ({
            allow: true,
            type: 'c',
            major,
            ...(minor === undefined ? {} : { minor }),
            access: 'rw',
          })),
        ],
      },
      seccomp: seccompProfile(input.arch, { rawSockets: input.rawSockets }),
      maskedPaths: HIDDEN_OF_PROC,
      readonlyPaths: ['/proc/sys', '/proc/sysrq-trigger'],
      // Lets everybody ping without raw sockets. A restore sets it for itself: CRIU makes an empty network namespace.
      sysctl: {
        'net.ipv4.ping_group_range': pingGroups(),
        // The kernel counts message queues along user namespaces up to the host's root, so a sandbox gets few of them.
        ...(input.limitsQueues
          ? {
              'fs.mqueue.queues_max': String(MESSAGE_QUEUES),
              'fs.mqueue.msg_max': '10',
              'fs.mqueue.msgsize_max': '8192',
            }
          : {}),
      },
    },
  };
}

export type OciConfig = ReturnType<typeof ociConfig>;

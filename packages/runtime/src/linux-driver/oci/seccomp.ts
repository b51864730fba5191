import { ALLOWED_CALLS } from './allowed-calls.js';

const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/**
 * Calls that exist but are not for sandboxes: they reach deep into the kernel, past a namespace, or into other programs
 * in ways that nobody needs. Everything that is named nowhere in the profile fails as if the kernel did not have it.
 */
const REFUSED = [
  ...[
    'acct',
    'add_key',
    'bpf',
    'clock_adjtime',
    'clock_settime',
    'clock_settime64',
    'delete_module',
    'fanotify_init',
  ],
  ...[
    'fanotify_mark',
    'finit_module',
    'fsconfig',
    'fsmount',
    'fsopen',
    'fspick',
    'get_mempolicy',
    'init_module',
  ],
  ...[
    'ioperm',
    'iopl',
    'kcmp',
    'kexec_file_load',
    'kexec_load',
    'keyctl',
    'lookup_dcookie',
    'mbind',
    'migrate_pages',
  ],
  ...[
    'mount',
    'mount_setattr',
    'move_mount',
    'move_pages',
    'name_to_handle_at',
    'nfsservctl',
    'open_by_handle_at',
  ],
  ...[
    'open_tree',
    'perf_event_open',
    'pidfd_getfd',
    'pivot_root',
    'process_madvise',
    'quotactl',
    'quotactl_fd',
  ],
  ...[
    'reboot',
    'request_key',
    'set_mempolicy',
    'set_mempolicy_home_node',
    'setdomainname',
    'sethostname',
    'setns',
  ],
  ...['settimeofday', 'stime', 'swapoff', 'swapon', 'syslog', 'umount', 'umount2', 'userfaultfd', 'vhangup'],
];

/**
 * Calls that programs do without when the kernel seems not to have them. io_uring and secret memory cannot be stored in a
 * checkpoint; the arguments of clone3 lie behind a pointer that a filter cannot read; debuggers read memory
 * through ptrace, which checks more, when process_vm_readv is missing.
 */
const ABSENT = [
  ...['clone3', 'io_uring_enter', 'io_uring_register', 'io_uring_setup', 'memfd_secret'],
  ...['process_vm_readv', 'process_vm_writev'],
];

const NEW_NAMESPACE = {
  NEWNS: 0x20000,
  NEWCGROUP: 0x2000000,
  NEWUTS: 0x4000000,
  NEWIPC: 0x8000000,
  NEWUSER: 0x10000000,
  NEWPID: 0x20000000,
  NEWNET: 0x40000000,
};
/** In `clone` the same bit belongs to the signal. */
const NEWTIME = 0x80;

/** Linux personalities that only change what `uname` says, and the question which one is set. */
const PERSONALITIES = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
/** The default, ICMP (`ping` without raw sockets), TCP, UDP, ICMPv6. Others load rarely tested modules. */
const INTERNET_PROTOCOLS = [0, 1, 6, 17, 58];
/** No checkpoint can hold such a socket. Programs, all servers in Go among them, take TCP when the kernel has none. */
const MULTIPATH_TCP = 262;

/** The byte by which the kernel recognises ioctls of btrfs. */
const BTRFS = 0x94;
/** FICLONE, FICLONERANGE, FIDEDUPERANGE. */
const SHARING_COPIES = [0x40049409, 0x4020940d, 0xc0189436];

export interface Argument {
  index: number;
  value: number;
  valueTwo?: number;
  op: 'SCMP_CMP_EQ' | 'SCMP_CMP_NE' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ';
}

export interface Rule {
  names: readonly string[];
  action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  errnoRet?: number;
  args?: Argument[];
}

export interface SeccompOptions {
  /** Any protocol over IPv4 and IPv6, for sandboxes that have the capability for raw sockets. */
  rawSockets?: boolean;
}

/**
 * The OCI seccomp section for an architecture as Node names it: what is not allowed does not exist or is refused. Calls of
 * 32-bit x86 programs end them: there, sockets are made by a call whose arguments a filter cannot read, and 64-bit
 * programs can make it too.
 */
export function seccompProfile(arch: string, options: SeccompOptions = {}) {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    // Programs fall back when a call does not exist, and give up when it is forbidden.
    defaultErrnoRet: ENOSYS,
    architectures: arch === 'arm64' ? ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM'] : ['SCMP_ARCH_X86_64'],
    syscalls: [
      { names: ALLOWED_CALLS, action: 'SCMP_ACT_ALLOW' },
      { names: REFUSED, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
      { names: ABSENT, action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      ...namespaceRules('clone', Object.values(NEW_NAMESPACE)),
      ...namespaceRules('unshare', [...Object.values(NEW_NAMESPACE), NEWTIME]),
      ...PERSONALITIES.map((value) => allow('personality', equals(0, value))),
      ...ioctlRules(),
      ...socketRules(options.rawSockets === true),
      allow('socketpair', equals(0, AF_UNIX)),
      refuse('socketpair', EAFNOSUPPORT, { index: 0, value: AF_UNIX, op: 'SCMP_CMP_NE' }),
    ] satisfies Rule[],
  };
}

/** Allows a call without any of the flags that make a namespace, and refuses each of those. */
function namespaceRules(name: string, flags: number[]): Rule[] {
  const all = flags.reduce((sum, flag) => sum + flag, 0);
  const masked = (mask: number, value: number): Argument => ({
    index: 0,
    value: mask,
    valueTwo: value,
    op: 'SCMP_CMP_MASKED_EQ',
  });
  return [allow(name, masked(all, 0)), ...flags.map((flag) => refuse(name, EPERM, masked(flag, flag)))];
}

/**
 * Allows ioctl but for those of btrfs, on which volumes are: a subvolume that a program makes in its volume has no limit.
 * Of the same kind, copies that share blocks are allowed. Filters know no "unequal" for a part of a number: a kind differs
 * when one of its bits does.
 */
function ioctlRules(): Rule[] {
  const bits = Array.from({ length: 8 }, (_, bit) => 1 << (bit + 8));
  return [
    ...bits.map((bit) =>
      allow('ioctl', { index: 1, value: bit, valueTwo: ~(BTRFS << 8) & bit, op: 'SCMP_CMP_MASKED_EQ' }),
    ),
    ...SHARING_COPIES.map((value) => allow('ioctl', equals(1, value))),
  ];
}

function socketRules(anyProtocol: boolean): Rule[] {
  const others = Array.from({ length: AF_NETLINK }, (_, family) => family).filter(
    (family) => family !== AF_UNIX && family !== AF_INET && family !== AF_INET6,
  );
  return [
    allow('socket', equals(0, AF_UNIX)),
    ...[AF_INET, AF_INET6].flatMap((family) =>
      anyProtocol
        ? [allow('socket', equals(0, family), { index: 2, value: MULTIPATH_TCP, op: 'SCMP_CMP_NE' })]
        : INTERNET_PROTOCOLS.map((protocol) => allow('socket', equals(0, family), equals(2, protocol))),
    ),
    ...[AF_INET, AF_INET6].map((family) =>
      refuse('socket', EPROTONOSUPPORT, equals(0, family), equals(2, MULTIPATH_TCP)),
    ),
    allow('socket', equals(0, AF_NETLINK), equals(2, NETLINK_ROUTE)),
    refuse('socket', EPROTONOSUPPORT, equals(0, AF_NETLINK), {
      index: 2,
      value: NETLINK_ROUTE,
      op: 'SCMP_CMP_NE',
    }),
    ...others.map((family) => refuse('socket', EAFNOSUPPORT, equals(0, family))),
    refuse('socket', EAFNOSUPPORT, { index: 0, value: AF_NETLINK, op: 'SCMP_CMP_GT' }),
  ];
}

function equals(index: number, value: number): Argument {
  return { index, value, op: 'SCMP_CMP_EQ' };
}

function allow(name: string, ...args: Argument[]): Rule {
  return { names: [name], action: 'SCMP_ACT_ALLOW', args };
}

function refuse(name: string, errnoRet: number, ...args: Argument[]): Rule {
  return { names: [name], action: 'SCMP_ACT_ERRNO', errnoRet, args };
}

const CLONE_NEWUSER = 0x10000000;
const ENOSYS = 38;
const EPERM = 1;

/** Calls that no sandboxed program needs and that reach deep into the kernel. */
const REFUSED = [
  'acct',
  'add_key',
  'bpf',
  'clock_adjtime',
  'clock_settime',
  'delete_module',
  'finit_module',
  'fsconfig',
  'fsmount',
  'fsopen',
  'fspick',
  'init_module',
  'ioperm',
  'iopl',
  'kexec_file_load',
  'kexec_load',
  'keyctl',
  'lookup_dcookie',
  'mount',
  'mount_setattr',
  'move_mount',
  'nfsservctl',
  'open_by_handle_at',
  'open_tree',
  'perf_event_open',
  'pivot_root',
  'quotactl',
  'quotactl_fd',
  'reboot',
  'request_key',
  'setns',
  'settimeofday',
  'swapoff',
  'swapon',
  'syslog',
  'umount',
  'umount2',
  'userfaultfd',
  'vhangup',
];

/** The OCI seccomp section for an architecture as Node names it. */
export function seccompProfile(arch: string) {
  const architectures =
    arch === 'arm64'
      ? ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM']
      : ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'];
  const newUser = [{ index: 0, value: CLONE_NEWUSER, valueTwo: CLONE_NEWUSER, op: 'SCMP_CMP_MASKED_EQ' }];
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    architectures,
    syscalls: [
      { names: REFUSED, action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
      // Programs fall back when the kernel seems not to have these. io_uring cannot be stored in a checkpoint, and the
      // flags of clone3 lie behind a pointer that a filter cannot read.
      {
        names: ['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'clone3'],
        action: 'SCMP_ACT_ERRNO',
        errnoRet: ENOSYS,
      },
      { names: ['unshare', 'clone'], action: 'SCMP_ACT_ERRNO', errnoRet: EPERM, args: newUser },
    ],
  };
}

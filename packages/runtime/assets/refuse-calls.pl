# Sets a seccomp filter for a process that works on untrusted input, and for the programs that it becomes. It must have no_new_privs.
#
# usage: refuse-calls.pl PROGRAM ...     (or loaded by another program, which calls refuse_calls)
use strict;
use POSIX ();

my $machine = (POSIX::uname())[4];
my $PRCTL = $machine eq 'aarch64' ? 167 : $machine eq 'x86_64' ? 157 : die "not made for $machine\n";

# Helpers that read untrusted input never need these: other processes' memory, namespaces and mounts, keys, modules, programs in the kernel, io_uring.
# By name, with the number on x86_64 and on aarch64.
my @REFUSED = (
  [ptrace => 101, 117], [process_vm_readv => 310, 270], [process_vm_writev => 311, 271], [kcmp => 312, 272],
  [pidfd_getfd => 438, 438], [bpf => 321, 280], [perf_event_open => 298, 241], [userfaultfd => 323, 282],
  [io_uring_setup => 425, 425], [io_uring_enter => 426, 426], [io_uring_register => 427, 427],
  [add_key => 248, 217], [request_key => 249, 218], [keyctl => 250, 219],
  [mount => 165, 40], [umount2 => 166, 39], [open_tree => 428, 428], [move_mount => 429, 429], [fsopen => 430, 430],
  [fsconfig => 431, 431], [fsmount => 432, 432], [fspick => 433, 433], [mount_setattr => 442, 442],
  [pivot_root => 155, 41], [chroot => 161, 51], [setns => 308, 268], [unshare => 272, 97],
  [init_module => 175, 105], [finit_module => 313, 273], [delete_module => 176, 106],
  [kexec_load => 246, 104], [kexec_file_load => 320, 294], [reboot => 169, 142], [swapon => 167, 224], [swapoff => 168, 225],
  [personality => 135, 92], [name_to_handle_at => 303, 264], [open_by_handle_at => 304, 265], [fanotify_init => 300, 262],
  [acct => 163, 89], [quotactl => 179, 60], [memfd_secret => 447, 447], [execveat => 322, 281], [mknodat => 259, 33],
);

# A seccomp filter for this process and the programs that it becomes.
sub refuse_calls {
  my $arm = $machine eq 'aarch64';
  my ($load, $equal, $least, $more, $any, $return) = (0x20, 0x15, 0x35, 0x25, 0x45, 0x06);
  my ($allow, $end, $fail) = ([$return, 0, 0, 0x7fff0000], [$return, 0, 0, 0x80000000], sub { [$return, 0, 0, 0x00050000 | $_[0]] });
  my ($EPERM, $ENOSYS, $EAFNOSUPPORT) = (1, 38, 97);
  my @filter = (
    [$load, 0, 0, 4], [$equal, 1, 0, $arm ? 0xc00000b7 : 0xc000003e], $end,
    [$load, 0, 0, 0],
    # Calls of x32.
    [$least, 0, 1, 0x40000000], $fail->($ENOSYS),
    (map { ([$equal, 0, 1, $_->[$arm ? 2 : 1]], $fail->($EPERM)) } @REFUSED),
    # Without it threads are made by clone, whose flags can be seen: no new namespace.
    [$equal, 0, 1, 435], $fail->($ENOSYS),
    [$equal, 0, 4, $arm ? 220 : 56], [$load, 0, 0, 16], [$any, 0, 1, 0x7e020000], $fail->($EPERM), $allow,
    # Sockets: Unix, IPv4, IPv6 and netlink are all below 17.
    [$equal, 0, 4, $arm ? 198 : 41], [$load, 0, 0, 16], [$more, 0, 1, 16], $fail->($EAFNOSUPPORT), $allow,
    $allow,
  );
  my $instructions = join '', map { pack 'S C C L', @$_ } @filter;
  my $program = pack 'S x6 P', scalar @filter, $instructions;
  my ($PR_SET_SECCOMP, $SECCOMP_MODE_FILTER) = (22, 2);
  syscall($PRCTL, $PR_SET_SECCOMP, $SECCOMP_MODE_FILTER, $program, 0, 0) == 0 or die "seccomp: $!\n";
}

unless (caller) {
  refuse_calls();
  exec { $ARGV[0] } @ARGV or die "exec: $!\n";
}
1;

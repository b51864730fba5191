# Opens the sockets of the egress process, makes the current directory the root, gives up every right and becomes the process.
#
# usage: egress-listen.pl PROXY_PORT NAME_SERVER CONTROL UID PROGRAM ...
# Descriptors of PROGRAM: 3 redirected connections, 4 and 5 the name server by UDP and TCP, 6 the control socket.
use strict;
use Socket;
use POSIX ();
use FindBin;
require "$FindBin::Bin/refuse-calls.pl";

my ($port, $name_server, $control, $uid, @program) = @ARGV;
my $machine = (POSIX::uname())[4];
my ($PIVOT_ROOT, $UMOUNT, $PRCTL) =
  $machine eq 'aarch64' ? (41, 39, 167) : $machine eq 'x86_64' ? (155, 166, 157) : die "not made for $machine\n";
my ($PR_SET_PDEATHSIG, $PR_CAPBSET_DROP, $PR_SET_NO_NEW_PRIVS) = (1, 24, 38);
my ($IPPROTO_IP, $IP_TRANSPARENT, $MNT_DETACH, $SIGKILL) = (0, 19, 2, 9);

my @sockets;
sub open_socket {
  my ($family, $type, $address, $backlog, @options) = @_;
  socket(my $socket, $family, $type, 0) or die "socket: $!\n";
  for (@options) { setsockopt($socket, $_->[0], $_->[1], $_->[2]) or die "setsockopt: $!\n" }
  bind($socket, $address) or die "bind: $!\n";
  listen($socket, $backlog) or die "listen: $!\n" if $backlog;
  push @sockets, $socket;
}
my @reuse = (SOL_SOCKET, SO_REUSEADDR, 1);
my $names = pack_sockaddr_in(53, inet_aton($name_server));
my $redirected = pack_sockaddr_in($port, INADDR_LOOPBACK);
open_socket(PF_INET, SOCK_STREAM, $redirected, 4096, \@reuse, [$IPPROTO_IP, $IP_TRANSPARENT, 1]);
open_socket(PF_INET, SOCK_DGRAM, $names, 0, [SOL_SOCKET, SO_RCVBUF, 2**20]);
open_socket(PF_INET, SOCK_STREAM, $names, 1024, \@reuse);
unlink $control;
umask 0177;
open_socket(PF_UNIX, SOCK_STREAM, pack_sockaddr_un($control), 0);
# They may have each other's numbers, so they move out of the way first.
POSIX::dup2(fileno($sockets[$_]), 100 + $_) // die "dup2: $!\n" for 0 .. 3;
POSIX::dup2(100 + $_, 3 + $_) // die "dup2: $!\n" for 0 .. 3;
POSIX::close($_) for 7 .. 110;

my ($new_root, $old_root, $old) = ('.', 'old', '/old');
syscall($PIVOT_ROOT, $new_root, $old_root) == 0 or die "pivot_root: $!\n";
chdir '/' or die "chdir: $!\n";
syscall($UMOUNT, $old, $MNT_DETACH) == 0 or die "umount: $!\n";

for my $capability (0 .. 63) { last if syscall($PRCTL, $PR_CAPBSET_DROP, $capability, 0, 0, 0) != 0 }
$) = "$uid $uid";
$) eq "$uid $uid" or die "setgroups: $!\n";
POSIX::setgid($uid) // die "setgid: $!\n";
POSIX::setuid($uid) // die "setuid: $!\n";
syscall($PRCTL, $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 or die "prctl: $!\n";
# After the change of user, which clears it: it ends with the process that watches over it.
syscall($PRCTL, $PR_SET_PDEATHSIG, $SIGKILL, 0, 0, 0) == 0 or die "prctl: $!\n";
refuse_calls();
# From here on the driver may connect to the process.
listen($sockets[3], 64) or die "listen: $!\n";
exec { $program[0] } @program or die "exec: $!\n";

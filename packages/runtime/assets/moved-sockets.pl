# Prints the indexes of Unix sockets whose files have other names than those that they were bound to.
#
# usage, as root: moved-sockets.pl ARCH [PID DESCRIPTOR NAME ...]     (ARCH as Node names it; NAME as the process sees it)
use strict;
use warnings;

# The numbers are the same on both architectures.
use constant { PIDFD_OPEN => 434, PIDFD_GETFD => 438, SIOCUNIXFILE => 0x89e0 };
my ($arch, @words) = @ARGV;

# The file of a socket, also of one that has no name any more: device, inode number, number of names.
sub file_of { # PID DESCRIPTOR
  my $process = syscall PIDFD_OPEN, $_[0] + 0, 0;
  return if $process < 0;
  open my $process_handle, '<&=', $process or return;
  my $descriptor = syscall PIDFD_GETFD, $process, $_[1] + 0, 0;
  return if $descriptor < 0;
  open my $socket, '+<&=', $descriptor or return;
  my $file = ioctl $socket, SIOCUNIXFILE, 0;
  return unless $file;
  my @found = stat "/proc/self/fd/$file";
  syscall $arch eq 'arm64' ? 57 : 3, $file + 0;
  return @found[0, 1, 3];
}

for (my $index = 0; @words; $index += 1) {
  my ($pid, $descriptor, $name) = splice @words, 0, 3;
  my ($device, $inode, $names) = file_of($pid, $descriptor);
  next unless $names;
  # Links on the way to the name are those of the sandbox.
  my $child = fork // die "fork: $!\n";
  if ($child == 0) {
    chroot "/proc/$pid/root" or exit 0;
    chdir '/' or exit 0;
    my ($found_device, $found_inode) = lstat $name;
    exit(defined $found_inode && $found_inode == $inode && $found_device == $device ? 0 : 1);
  }
  waitpid $child, 0;
  print "$index\n" if $?;
}

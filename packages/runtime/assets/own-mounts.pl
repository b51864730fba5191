# Mounts the file systems of an instance so that they belong to its own range of ids: what has owner N on disk has owner
# FIRST + N in the instance. On disk nothing changes, so layers, checkpoints and volumes serve every range.
#
# usage, as root in the directory of the store:
#   own-mounts.pl ARCH FIRST AT WRITABLE ROOT_LAYERS USR_LAYERS IMAGES OWN_USERS BINDS CHANGES COUNT [SOURCE ...]
#
# ARCH as Node names it. AT: directory with the mount points `m` and `usr`. WRITABLE: directory with upper and work
# directories; empty: nothing can be written. IMAGES: directory that is seen as AT/img, if not empty, and OWN_USERS the file
# that is seen in there in place of one of that name. Layers: with colons, uppermost first, relative to the store or
# absolute. The first COUNT of the sources are bound as BINDS/0, BINDS/1 ..., which let no set-uid program and no device
# node have any effect there. CHANGES: directory for what would be changed in them, if not empty.
use strict;
use warnings;

use constant {
  SIZE => 65_536, AT_FDCWD => -100, AT_EMPTY_PATH => 0x1000, EINVAL => 22, SIGKILL => 9,
  OPEN_TREE => 428, OPEN_TREE_CLONE => 1, MOVE_MOUNT => 429, MOVE_FROM_EMPTY_PATH => 4,
  MOUNT_SETATTR => 442, IDMAP => 0x100000,
  # As BOUND_FLAGS of mounts.sh: nosuid, nodev and noatime, and neither noexec nor another rule for times.
  BOUND => 2 | 4 | 0x10, UNBOUND => 8 | 0x70,
  CLONE_NEWUSER => 0x10000000, MS_NOSUID => 2, MS_NODEV => 4, MS_NOATIME => 1024, MNT_DETACH => 2,
  SET_SECUREBITS => 28, NO_SETUID_FIXUP => 4,
  # The host's root has no place in the range, but the driver creates a file now and then, and gives it away at once.
  HOST_ROOT_ON_DISK => 0xfffffff0,
};
my ($arch, $first, $at, $writable, $root_layers, $usr_layers, $images, $own_users, $binds, $changes, $count, @sources) =
  @ARGV;
my %number = $arch eq 'arm64'
  ? (mount => 40, umount => 39, unshare => 97, prctl => 167, setfsuid => 151, setfsgid => 152)
  : (mount => 165, umount => 166, unshare => 272, prctl => 157, setfsuid => 122, setfsgid => 123);

sub call { # NAME NUMBER ARGUMENT ...
  my ($name, $number, @words) = @_;
  my $result = syscall($number, @words);
  die "$name: $!\n" if $result < 0;
  return $result;
}

# The user namespace only carries the mapping to the kernel; nothing else uses it.
sub mapping {
  pipe(my $made, my $making) or die $!;
  my $pid = fork // die "fork: $!\n";
  if ($pid == 0) {
    close $made;
    call('unshare', $number{unshare}, CLONE_NEWUSER);
    syswrite $making, '+';
    sleep 60;
    exit;
  }
  close $making;
  my $namespace;
  if (sysread $made, my $word, 1) {
    for my $file ('uid_map', 'gid_map') {
      open my $map, '>', "/proc/$pid/$file" or die "$file: $!\n";
      syswrite $map, "0 $first ${\SIZE}\n${\HOST_ROOT_ON_DISK} 0 1\n" or die "$file: $!\n";
    }
    open $namespace, '<', "/proc/$pid/ns/user" or die "ns/user: $!\n";
  }
  kill SIGKILL, $pid;
  waitpid $pid, 0;
  return $namespace // die "no user namespace can be made\n";
}
my $mapping = mapping();

sub view { # SOURCE TARGET ATTRIBUTES PLAIN: PLAIN lets a file system pass that knows no mapping
  my ($source, $target, $attributes, $plain) = @_;
  my $tree = call("open_tree $source", OPEN_TREE, AT_FDCWD, $source, OPEN_TREE_CLONE);
  my $empty = '';
  my $clear = $attributes ? UNBOUND : 0;
  my $set = pack 'Q4', $attributes | IDMAP, $clear, 0, fileno $mapping;
  if (syscall(MOUNT_SETATTR, $tree, $empty, AT_EMPTY_PATH, $set, length $set) != 0) {
    die "mount_setattr $source: $!\n" unless $plain && $! == EINVAL;
    my $less = pack 'Q4', $attributes, $clear, 0, 0;
    call("mount_setattr $source", MOUNT_SETATTR, $tree, $empty, AT_EMPTY_PATH, $less, length $less);
  }
  call("move_mount $target", MOVE_MOUNT, $tree, $empty, AT_FDCWD, $target, MOVE_FROM_EMPTY_PATH);
}

my @views;
sub layer_view { # SOURCE PLAIN: gives where it is seen with the ids of the range
  my $target = "$at/view" . @views;
  mkdir $target, 0755 or die "mkdir $target: $!\n";
  view($_[0], $target, 0, $_[1]);
  push @views, $target;
  return $target;
}

sub lower { # LAYERS
  # A base is a link of the driver's in the store, to a tree outside.
  return join ':', map { m{^/} ? layer_view($_) : m{^b/} ? layer_view(readlink $_) : $_ } split /:/, $_[0];
}

sub overlay { # LOWER UPPER WORK TARGET FLAGS
  my ($lower, $upper, $work, $target, $flags) = @_;
  my $type = 'overlay';
  my $options = "lowerdir=$lower";
  $options .= ",upperdir=$upper,workdir=$work,index=on,nfs_export=on" if $upper ne '';
  # Files that the overlay itself makes belong to the process that mounts it, which must therefore be in the range, with all rights of root.
  call('securebits', $number{prctl}, SET_SECUREBITS, NO_SETUID_FIXUP, 0, 0, 0);
  syscall($number{setfsgid}, $first + 0);
  syscall($number{setfsuid}, $first + 0);
  call("mount $target", $number{mount}, $type, $target, $type, $flags, $options);
  syscall($number{setfsuid}, 0);
  syscall($number{setfsgid}, 0);
}

for my $index (0 .. $count - 1) {
  my $target = "$binds/$index";
  if (-d $sources[$index]) { mkdir $target, 0755 or die "mkdir $target: $!\n" }
  else { open my $file, '>', $target or die "$target: $!\n" }
  if ($changes ne '' && -d $target) {
    for my $directory ($changes, "$changes/u$index", "$changes/w$index") {
      mkdir $directory, 0755 or -d $directory or die "mkdir $directory: $!\n";
    }
  } else { view($sources[$index], $target, BOUND, 1) }
}
if ($images ne '') {
  view($images, "$at/img", BOUND, 1);
  view($own_users, "$at/img/" . ($own_users =~ s{.*/}{}r), BOUND);
}
chdir layer_view('.') or die "chdir: $!\n";
my @parts = $writable eq '' ? ('') x 4 : map { "$writable/$_" } 'u', 'w', 'uu', 'uw';
overlay(lower($root_layers), @parts[0, 1], "$at/m", MS_NODEV);
overlay(lower($usr_layers), @parts[2, 3], "$at/usr", MS_NODEV) if $usr_layers ne '';
for my $index ($changes eq '' ? () : grep { -d "$binds/$_" } 0 .. $count - 1) {
  my $lower = layer_view($sources[$index], 1);
  overlay($lower, "$changes/u$index", "$changes/w$index", "$binds/$index", MS_NOSUID | MS_NODEV | MS_NOATIME);
}
# The overlays hold what they need of the views.
for my $view (@views) {
  call("umount $view", $number{umount}, $view, MNT_DETACH);
  rmdir $view;
}

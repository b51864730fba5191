#!/bin/sh
# shellcheck shell=dash
# Prepares the private mount namespace of the driver, says "ready" and keeps it alive. Nothing mounted here shows on the
# host. `/run` becomes a tmpfs: CRIU keeps its kernel probe there, network namespaces get their names there. A hybrid
# cgroup tree loses its empty v2 part, which OCI runtimes take for a broken setup.
#
# usage, in a new mount namespace: namespace-keeper.sh first DATA_DIRECTORY
set -e
stage=$1
data=$2
ulimit -c 0
umask 022

# A root that is not a mount point (a chroot) cannot be made private, and the kernel gives no user namespaces to a
# process in a chroot. So the tree is bound onto a directory first, and becomes the real root.
if ! mount --make-rprivate / 2>/dev/null; then
  awk '{ print $5 }' /proc/self/mountinfo | while read -r point; do
    mount --make-private "$point" 2>/dev/null || true
  done
  if [ "$stage" != again ]; then
    mkdir -p "$data/root"
    mount --rbind / "$data/root"
    cd "$data/root"
    # Joining the namespace again drops the chroot. From there the bound tree can be the root.
    # shellcheck disable=SC2016 # The inner shell expands it.
    exec nsenter --target $$ --mount --wd ./bin/sh -c '
      PATH=./usr/sbin:./sbin:./usr/bin:./bin
      pivot_root . run
      cd /
      PATH=/usr/sbin:/sbin:/usr/bin:/bin
      umount -l /run
      exec sh "$1" again "$2"' sh "$0" "$data"
  fi
fi

mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock /run/cg
if [ -d /sys/fs/cgroup/unified ]; then
  mount --rbind /sys/fs/cgroup /run/cg
  mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
  for path in /run/cg/*; do
    name=${path##*/}
    [ "$name" = unified ] && continue
    if [ -L "$path" ]; then
      cp -P "$path" /sys/fs/cgroup/
      continue
    fi
    mkdir "/sys/fs/cgroup/$name"
    mount --bind "$path" "/sys/fs/cgroup/$name"
  done
  umount -R /run/cg
fi

# The nodes stand beside the directory: a sandbox cannot bind a directory with locked mounts in it. They are the driver's own:
# nobody's chmod of the host's reaches sandboxes, and no flag of the host's /dev is locked in a sandbox, where a restore could
# not repeat it.
mkdir -p /run/nodes /run/dev/pts
# The OCI runtime gives a mount the mode of what it is mounted on.
mkdir -m 1777 /run/dev/shm /run/dev/mqueue
while read -r name numbers; do
  : >"/run/dev/$name"
  # shellcheck disable=SC2086 # Two numbers.
  mknod -m 666 "/run/nodes/$name" c $numbers
  mount --bind "/run/nodes/$name" "/run/nodes/$name"
  mount -o remount,bind,ro "/run/nodes/$name"
  # The OCI runtime restores a node as the one of that name here, and hides files of /proc behind null.
  mount --bind "/run/nodes/$name" "/dev/$name"
done <<NODES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
NODES
ln -s pts/ptmx /run/dev/ptmx
ln -s /proc/self/fd /run/dev/fd
ln -s /proc/self/fd/0 /run/dev/stdin
ln -s /proc/self/fd/1 /run/dev/stdout
ln -s /proc/self/fd/2 /run/dev/stderr

ip netns add gw
echo ready
exec sleep infinity >/dev/null 2>&1

#!/bin/sh
# Runs a command where the kernel's and the temporary file systems have the mount flags that systemd gives them on a stock Debian,
# in a mount namespace of its own: the host keeps its flags. Where that cannot be (not root, a container), the command runs as it is.
#
# usage: stock-mounts.sh COMMAND ...
set -e
if [ "$1" != --inside ]; then
  if [ "$(id -u)" = 0 ] && unshare --mount --propagation private true 2>/dev/null; then
    exec unshare --mount --propagation private sh "$0" --inside "$@"
  fi
  echo "${0##*/}: no private mount namespace can be made here, so the mounts stay as they are." >&2
  exec "$@"
fi
shift

flags() { # FLAGS DIRECTORY ...: what is no mount point becomes one
  flags=$1
  shift
  for directory in "$@"; do
    [ -d "$directory" ] || continue
    mountpoint -q "$directory" || mount --rbind "$directory" "$directory"
    mount -o "remount,bind,$flags" "$directory"
  done
}

flags nosuid /dev
flags nosuid,nodev /dev/shm /tmp
flags nosuid,nodev,noexec /proc /run /sys
# Hybrid hosts have a mount for each controller.
# shellcheck disable=SC2046 # A word for each.
flags nosuid,nodev,noexec $(awk '$5 ~ "^/sys/fs/cgroup" { print $5 }' /proc/self/mountinfo)
# The directory that this runs in may be below one that was mounted anew.
cd "$PWD"
exec "$@"

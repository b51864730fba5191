#!/bin/sh
# The part of member.sh that runs in the member's own namespaces.
# usage: member-inside.sh NAME DIRECTORY ROOT KEEPER ADDRESS/BITS GATEWAY MARK
set -eu
name=$1 directory=$2 root=$3 keeper=$4 address=$5 gateway=$6 mark=$7
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

hostname "$name"
ip link set lo up
nsenter --net="/proc/$keeper/ns/net" ip link delete "$name" 2>/dev/null || true
ip link add eth0 type veth peer name "$name" netns "$keeper"
nsenter --net="/proc/$keeper/ns/net" ip link set "$name" master trial up
ip addr add "$address" dev eth0
ip link set eth0 up
ip route add default via "$gateway"
echo 1 >/proc/sys/net/ipv4/conf/all/forwarding
nft -D svc_servers="{ $gateway }" -f "$here/fence.nft"

tree=$directory/tree
mkdir -p "$directory/upper" "$directory/work" "$tree" "$directory/incus" "$directory/pool"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$directory/upper,workdir=$directory/work" "$tree"
mount -t sysfs sysfs "$tree/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$tree/sys/fs/cgroup"
  # Only a group without processes may have limited groups below it.
  mkdir -p "$tree/sys/fs/cgroup/incus"
  echo $$ >"$tree/sys/fs/cgroup/incus/cgroup.procs"
  tr ' ' '\n' <"$tree/sys/fs/cgroup/cgroup.controllers" | while read -r controller; do
    echo "+$controller" >"$tree/sys/fs/cgroup/cgroup.subtree_control" 2>/dev/null || true
  done
else
  mount -t tmpfs -o mode=755 tmpfs "$tree/sys/fs/cgroup"
  for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids systemd; do
    [ -d "/sys/fs/cgroup/$hierarchy/$mark" ] || continue
    mkdir "$tree/sys/fs/cgroup/$hierarchy"
    # The member sees its own group as the root.
    mount --bind "/sys/fs/cgroup/$hierarchy/$mark/$name" "$tree/sys/fs/cgroup/$hierarchy"
  done
fi
mount --rbind /dev "$tree/dev"
mount -t tmpfs -o mode=755 tmpfs "$tree/run"
mount -t tmpfs -o mode=1777 tmpfs "$tree/tmp"
mkdir -p "$tree/var/lib/incus" "$tree/srv/pool"
mount --bind "$directory/incus" "$tree/var/lib/incus"
mount -o loop "$directory/pool.img" "$directory/pool"
mount --bind "$directory/pool" "$tree/srv/pool"
cp "$here/keep-quotas.sh" "$tree/run/"
# The first process of its own process namespace: its end ends all.
# shellcheck disable=SC2016 # The inner shell expands it.
exec unshare --pid --fork --kill-child=KILL sh -ec '
  mount -t proc proc "$1/proc"
  cd "$1"
  pivot_root . mnt
  umount -l /mnt
  export INCUS_DIR=/var/lib/incus HOME=/root PATH=/usr/libexec/incus:/usr/sbin:/usr/bin:/sbin:/bin
  sh /run/keep-quotas.sh /srv/pool &
  exec /usr/bin/tini -g -- incusd --group root
' sh "$tree"

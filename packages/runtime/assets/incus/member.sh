#!/bin/sh
# One member of a trial cluster: Incus in cgroups, namespaces and a root file system of its own. It ends with everything that
# runs in it when its first process is killed.
# usage: member.sh MARK NAME DIRECTORY ROOT KEEPER ADDRESS/BITS GATEWAY
#   MARK      names the cluster's cgroups, below which the member gets its own
#   DIRECTORY of the member, with pool.img; ROOT is the file system that install.sh made
#   KEEPER    process that holds the network with the bridge `trial`
set -eu
mark=$1 name=$2 directory=$3 root=$4 keeper=$5 address=$6 gateway=$7
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin

own_cgroup() { # HIERARCHY: makes the member's, and enters it
  at=/sys/fs/cgroup${1:+/$1}/$mark
  mkdir -p "$at/$name"
  if [ -e "$at/cpuset.cpus" ] && [ ! -e "$at/cgroup.controllers" ]; then
    for group in "$at" "$at/$name"; do
      for file in cpuset.cpus cpuset.mems; do cat "$group/../$file" >"$group/$file"; done
    done
  fi
  echo 0 >"$at/$name/cgroup.procs"
}

if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/$mark/$name"
  for group in "" "/$mark"; do
    for controller in cpu memory pids io cpuset; do
      echo "+$controller" >"/sys/fs/cgroup$group/cgroup.subtree_control" 2>/dev/null || true
    done
  done
  own_cgroup ''
else
  for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids systemd unified; do
    [ ! -d "/sys/fs/cgroup/$hierarchy" ] || own_cgroup $hierarchy
  done
fi
exec unshare --net --mount --propagation private --cgroup --uts --ipc \
  sh "$here/member-inside.sh" "$name" "$directory" "$root" "$keeper" "$address" "$gateway" "$mark"

#!/bin/sh
# The network of a trial cluster: a namespace with the bridge `trial`, and the way into it for this machine's programs. Holds
# both until it is killed.
# usage: network.sh MARK GATEWAY/BITS NODE SOCKET PREFIX
set -eu
mark=$1 gateway=$2 node=$3 socket=$4 prefix=$5
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
for hierarchy in /sys/fs/cgroup/pids /sys/fs/cgroup; do
  [ -e "$hierarchy/cgroup.procs" ] || continue
  mkdir -p "$hierarchy/$mark/network"
  echo 0 >"$hierarchy/$mark/network/cgroup.procs"
  break
done
# shellcheck disable=SC2016 # The inner shell expands it.
exec unshare --net sh -ec '
  ip link set lo up
  ip link add trial type bridge
  ip addr add "$1" dev trial
  ip link set trial up
  while :; do
    "$2" "$3" "$4" "$5" || sleep 1
  done
' sh "$gateway" "$node" "$here/gateway.mjs" "$socket" "$prefix"

#!/bin/sh
# Keeps limits of disks in force on a btrfs storage pool of Incus: to run as root on each machine, for as long as Incus does.
# usage: keep-quotas.sh POOL     where the pool is mounted, such as /var/lib/incus/storage-pools/default
#
# Kernels give up counting what subvolumes take when one that was removed does not add up ("qgroup marked inconsistent").
# From then on every limit is that of one moment's writes alone, until somebody asks for all to be counted anew: Incus does not.
set -eu
pool=${1:?directory of the pool}
uuid=$(btrfs filesystem show "$pool" | sed -n 's/.*uuid: *//p')
state=/sys/fs/btrfs/${uuid:?no btrfs}/qgroups/inconsistent

while :; do
  # It is not there before the first limit.
  if [ "$(cat "$state" 2>/dev/null)" = 1 ]; then
    echo "keep-quotas: counting anew what sandboxes take in $pool"
    btrfs quota rescan -w "$pool" >/dev/null || true
  fi
  sleep 5
done

#!/bin/sh
# Tries to mount an overlay with the options of the driver. Runs in a mount namespace of its own, so nothing of it stays.
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/l /mnt/u /mnt/w /mnt/m
mount -t overlay overlay -o lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w,index=on,nfs_export=on /mnt/m

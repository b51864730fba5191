#!/bin/sh
# Tries to mount file systems with ids of their own, with the host's /usr. Runs in a mount namespace of its own, so
# nothing of it stays.
#
# usage: try-own-ids.sh OWN_MOUNTS ARCH     (the script beside this one, and the processor as Node names it)
set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/m
cd /usr
perl "$1" "$2" 536870912 /mnt '' bin:lib '' '' '' '' '' 0
[ "$(stat -c %u /mnt/m)" = 536870912 ]

#!/bin/sh
# shellcheck shell=dash
# Runs a program that sees one directory tree and, read-only, the programs and libraries of the host: no other file, no
# network, no other process, and no capability but those that files with foreign owners need. It stays as process 1, so
# that the program gets the signals of its limits.
#
# usage, as root in new mount, network, IPC, UTS and PID namespaces:
#   jail.sh TREE CPU_SECONDS MEMORY_KIB LARGEST_FILE_IN_BLOCKS_OF_512 PROGRAM ...     (TREE appears as /tree)
set -e
tree=$1 cpu=$2 memory=$3 file=$4; shift 4
# Where the new root stands, nobody misses what it covers.
root=/sys
mount -t tmpfs -o nosuid,nodev,size=256k,nr_inodes=64,mode=755 jail $root
mkdir $root/tree $root/usr $root/old $root/proc
mount --bind -o nosuid,nodev,noexec "$tree" $root/tree
mount --bind -o ro,nosuid,nodev /usr $root/usr
[ ! -d /usr/local ] || mount -t tmpfs -o ro,size=4k jail $root/usr/local
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then ln -s "usr/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind -o ro,nosuid,nodev "/$name" "$root/$name"
  fi
done
cd $root
# Only umount needs it; root's own entries in it would be open to a process without capabilities too.
mount -t proc proc proc
# Where / is no mount point (a chroot), the missing capabilities keep the program in.
if pivot_root . old 2>&-; then umount -l /old; fi
umount -l ./proc
ulimit -c 0; ulimit -t "$cpu"; ulimit -v "$memory"; ulimit -f "$file"
chroot . setpriv --bounding-set=-all,+chown,+dac_override,+fowner,+fsetid --inh-caps=-all --no-new-privs -- "$@"

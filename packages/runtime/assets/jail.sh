#!/bin/sh
# shellcheck shell=dash
# Runs a program that sees one directory tree and, read-only, the programs and libraries of the host: no other file, no
# network, no other process. Its four capabilities count only in a user namespace of its own: owners of files, and no more.
# This shell stays as process 1, so that the program gets the signals of its limits.
#
# usage, as root in new mount, network, IPC, UTS and PID namespaces:
#   jail.sh TREE CPU_SECONDS MEMORY_KIB LARGEST_FILE_IN_BLOCKS_OF_512 USER PROGRAM ...     (TREE appears as /tree)
set -e
tree=$1 cpu=$2 memory=$3 file=$4 user=$5; shift 5
# Where the new root stands, nobody misses what it covers.
root=/sys
mount -t tmpfs -o nosuid,nodev,size=256k,nr_inodes=64,mode=755 jail $root
mkdir $root/tree $root/usr $root/old $root/proc $root/dev
# The shell opens this empty file for a program in the background.
: >$root/dev/null
mount --bind -o nosuid,nodev,noexec "$tree" $root/tree
mount --bind -o ro,nosuid,nodev /usr $root/usr
[ ! -d /usr/local ] || mount -t tmpfs -o ro,size=4k jail $root/usr/local
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then ln -s "usr/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind -o ro,nosuid,nodev "/$name" "$root/$name"
  fi
done
cd $root
# For umount and the maps alone; root's own entries in it would be open to a process without capabilities too.
mount -t proc proc proc
mkfifo entered mapped
# Where / is no mount point (a chroot), the missing capabilities keep the program in.
if pivot_root . old 2>&-; then umount -l /old; fi
ulimit -c 0; ulimit -t "$cpu"; ulimit -v "$memory"; ulimit -f "$file"

kept=-all,+chown,+dac_override,+fowner,+fsetid
exec 3<&0
# A program that ends early is not waited for.
trap 'exit 1' CHLD
# shellcheck disable=SC2016 # The inner shell expands it.
unshare --user sh -c ': >entered; : <mapped; rm entered mapped; exec "$@"' jail \
  chroot . setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs \
  --inh-caps=$kept --ambient-caps=$kept --bounding-set=$kept -- "$@" <&3 3<&- &
program=$!
exec 3<&-
: <entered
trap - CHLD
# The same numbers inside and outside, so that owners stay what they are.
echo 0 0 4294967295 >proc/$program/uid_map
echo 0 0 4294967295 >proc/$program/gid_map
umount -l ./proc
: >mapped
wait $program

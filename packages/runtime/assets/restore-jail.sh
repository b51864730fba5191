#!/bin/sh
# shellcheck shell=dash
# Unpacks a part of a backup, in a process that sees one directory tree and, read-only, the programs of the host: no other
# file, no network, no other process. Unlike `jail.sh` it keeps what root needs to make file systems as they were: owners,
# device nodes (overlays mark removed files with them), capabilities of files and the overlays' own attributes.
#
# usage, as root in new mount, network, IPC, UTS and PID namespaces: restore-jail.sh TREE PROGRAM ...   (TREE appears as /tree)
set -e
tree=$1; shift
root=/sys
mount -t tmpfs -o nosuid,nodev,size=256k,nr_inodes=64,mode=755 jail $root
mkdir $root/tree $root/usr $root/old $root/proc
mount --bind -o nosuid,nodev,noexec "$tree" $root/tree
mount --bind -o ro,nosuid,nodev /usr $root/usr
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then ln -s "usr/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind -o ro,nosuid,nodev "/$name" "$root/$name"
  fi
done
cd $root
# For umount alone.
mount -t proc proc proc
# Where / is no mount point (a chroot), chroot alone keeps it in.
if pivot_root . old 2>&-; then umount -l /old; fi
umount -l ./proc
kept=-all,+chown,+dac_override,+fowner,+fsetid,+mknod,+setfcap,+sys_admin
exec chroot . setpriv --no-new-privs --inh-caps=-all --bounding-set=$kept -- "$@"

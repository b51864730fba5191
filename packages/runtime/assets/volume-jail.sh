#!/bin/sh
# shellcheck shell=dash
# Runs the program that works on files of volumes, and takes everything else away from it once it is loaded: it sees the
# volumes and, read-only, the programs of the host; no other file, no network, no other process. It is no user of the host
# that anything belongs to, and its four capabilities count only in a user namespace of its own: owners of files, and no
# more. This shell stays as process 1.
#
# usage, as root in new mount, network, IPC, UTS and PID namespaces:
#   volume-jail.sh VOLUMES USER REFUSE_CALLS PROGRAM ...     (VOLUMES appears as /volumes; REFUSE_CALLS: refuse-calls.pl)
# Standard input: a line once the program is loaded. Standard output: the program's, then "jailed". Descriptor 3 is the program's.
set -e
volumes=$1 user=$2 refuse=$3; shift 3
ulimit -c 0
# Where the new root stands, nobody misses what it covers.
root=/sys
mount -t tmpfs -o nosuid,nodev,noexec,size=256k,nr_inodes=64,mode=755 jail $root
mkdir $root/volumes $root/usr $root/old $root/proc $root/dev
: >$root/dev/null
mount --bind -o nosuid,noexec /dev/null $root/dev/null
mount --bind -o nosuid,nodev,noexec "$volumes" $root/volumes
mount --bind -o ro,nosuid,nodev /usr $root/usr
[ ! -d /usr/local ] || mount -t tmpfs -o ro,size=4k jail $root/usr/local
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then ln -s "usr/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind -o ro,nosuid,nodev "/$name" "$root/$name"
  fi
done
mount -t proc -o nosuid,nodev,noexec,subset=pid proc $root/proc
mkfifo $root/entered $root/mapped

# Where perl is missing the rest of the jail has to do.
if command -v perl >/dev/null 2>&1; then set -- perl "$refuse" "$@"; fi
kept=-all,+chown,+dac_override,+fowner,+fsetid
# shellcheck disable=SC2016 # The inner shell expands it.
unshare --user sh -c ': >"$0/entered"; : <"$0/mapped"; exec "$@"' $root \
  setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs \
  --inh-caps=$kept --ambient-caps=$kept --bounding-set=$kept -- "$@" </dev/null &
program=$!
exec 3>&-
: <$root/entered
# The same numbers inside and outside, so that owners stay what they are.
echo 0 0 4294967295 >$root/proc/$program/uid_map
echo 0 0 4294967295 >$root/proc/$program/gid_map
echo 600 >$root/proc/$program/oom_score_adj 2>/dev/null || true
: >$root/mapped

read -r _
rm $root/entered $root/mapped
cd $root
# The program's root becomes this one too: it is a process of the same mount namespace.
pivot_root . old
umount -l /old
mount -o remount,ro /
echo jailed
wait $program

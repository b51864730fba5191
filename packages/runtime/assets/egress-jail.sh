#!/bin/sh
# shellcheck shell=dash
# Runs the egress process: in a root with nothing in it but AGENT (Node with its libraries) and PROGRAM (a directory), both
# read-only. Its sockets, rights and root are egress-listen.pl's, which this becomes.
#
# usage, as root in new mount, PID, IPC and UTS namespaces and the network of the gateway, in the keeper's mounts:
#   egress-jail.sh AGENT PROGRAM WORD ...     (WORD ...: of egress-listen.pl)
set -e
agent=$1 program=$2; shift 2
ulimit -c 0
ulimit -f 0
ulimit -n "$(ulimit -H -n)"
# Where the new root stands, nobody misses what it covers.
root=/sys
mount -t tmpfs -o nosuid,nodev,noexec,size=64k,nr_inodes=32,mode=755 jail $root
mkdir $root/agent $root/program $root/proc $root/dev $root/old
: >$root/dev/null
mount --bind -o nosuid,noexec /dev/null $root/dev/null
mount --bind "$agent" $root/agent
mount -o remount,bind,ro,nosuid,nodev $root/agent
mount --bind "$program" $root/program
mount -o remount,bind,ro,nosuid,nodev,noexec $root/program
mount -t proc -o nosuid,nodev,noexec,subset=pid,hidepid=2 proc $root/proc
# Killed before anything else when memory gets short; the driver starts another.
echo 500 >/proc/self/oom_score_adj 2>/dev/null || :
cd $root
exec perl "${0%/*}/egress-listen.pl" "$@"

#!/bin/sh
# Becomes a program inside cgroups, so that the programs that it starts are in them too.
#
# usage: enter-cgroups.sh COUNT DIRECTORY ... WORD ...
set -e
count=$1; shift
while [ "$count" -gt 0 ]; do
  echo $$ >"$1/cgroup.procs"
  shift
  count=$((count - 1))
done
exec "$@"

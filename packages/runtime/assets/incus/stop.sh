#!/bin/sh
# Ends everything that runs in the cgroups of a trial cluster, or of one member of it, and removes them.
# usage: stop.sh MARK[/NAME]
set -eu
mark=$1
found() { # prints the directories of the mark
  for directory in /sys/fs/cgroup/*/"$mark" /sys/fs/cgroup/"$mark"; do
    [ ! -d "$directory" ] || echo "$directory"
  done
}
directories=$(found)
[ -n "$directories" ] || exit 0
tries=0
while :; do
  # A frozen process on cgroup v1 cannot be killed.
  # shellcheck disable=SC2086 # One word for each directory.
  find $directories -name freezer.state -not -path "*/$mark" 2>/dev/null | while read -r file; do
    echo THAWED >"$file" 2>/dev/null || true
  done
  # shellcheck disable=SC2086
  find $directories -name cgroup.freeze 2>/dev/null | while read -r file; do
    echo 0 >"$file" 2>/dev/null || true
  done
  # shellcheck disable=SC2086
  pids=$(find $directories -name cgroup.procs -exec cat {} + 2>/dev/null | sort -un | grep -vx 0 || true)
  [ -n "$pids" ] || break
  tries=$((tries + 1))
  [ $tries -le 600 ] || { echo "stop: processes of $mark cannot be ended: $pids" >&2; exit 1; }
  # shellcheck disable=SC2086
  kill -KILL $pids 2>/dev/null || true
  sleep 0.1
done
# The kernel removes a group asynchronously after its last process.
tries=0
# shellcheck disable=SC2086
until find $directories -depth -type d -exec rmdir {} + 2>/dev/null; [ -z "$(found)" ]; do
  tries=$((tries + 1))
  [ $tries -le 600 ] || { echo "stop: the cgroups of $mark cannot be removed" >&2; exit 1; }
  sleep 0.1
done

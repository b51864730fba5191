#!/bin/sh
# Starts gVisor's runtime, in a mount namespace of its own, with what it believes of the host. What it starts leaves the
# namespace at once.
#
# The memory of the machine is what MEMINFO says: the runtime takes a sandbox's total from there. And the directory
# /proc/sys/net is empty: from entries below it the runtime concludes that it is in the first network namespace of the
# host, and refuses to take that over. Newer kernels have these entries in every namespace.
#
# usage: gvisor-start.sh MEMINFO COMMAND ...
set -e
mount -t tmpfs -o ro,nosuid,nodev,noexec,size=4k none /proc/sys/net
mount --bind "$1" /proc/meminfo
shift
exec "$@"

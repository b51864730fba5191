#!/bin/sh
# Waits in an instance's host-name namespace for the one name to give, a line on standard input. Its end means none.
read -r name || exit 0
echo "$name" >/proc/sys/kernel/hostname

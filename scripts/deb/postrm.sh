#!/bin/sh
# shellcheck shell=dash
set -e

if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
case $1 in
purge) rmdir --ignore-fail-on-non-empty /etc/svc 2>/dev/null || true ;;
esac

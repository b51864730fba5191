#!/bin/sh
# shellcheck shell=dash
set -e

case $1 in
remove)
  if [ -d /run/systemd/system ]; then
    systemctl disable --quiet --now svc.service svc-runtime.service || true
  elif command -v systemctl >/dev/null; then
    # As in an image that is being built: links to units that are gone would stay.
    systemctl disable --quiet svc.service svc-runtime.service || true
  fi
  if [ -e /var/lib/svc/driver ]; then
    echo 'svc: sandboxes run on, and what is stored stays in /var/lib/svc. To end them, and to remove it, install svc again and run "svc server uninstall".'
  fi
  ;;
esac

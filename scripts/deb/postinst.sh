#!/bin/sh
# shellcheck shell=dash
set -e

# Of the server, and of the process that everything goes through that sandboxes send: without a home, a login or a right.
make_user() { # NAME
  ! getent passwd "$1" >/dev/null || return 0
  useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$1"
}

case $1 in
configure)
  make_user svc
  make_user svc-egress
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # After an upgrade: sandboxes run on, and the new version takes them over.
    if systemctl is-active --quiet svc-runtime.service; then systemctl restart svc-runtime.service svc.service; fi
  fi
  if [ -z "$2" ]; then
    echo 'svc: look at this machine with "svc server doctor --fix", then: systemctl enable --now svc-runtime svc'
  fi
  ;;
esac

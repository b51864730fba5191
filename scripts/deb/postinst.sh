#!/bin/sh
# shellcheck shell=dash
set -e

field() { # NUMBER, of a line with colons on standard input
  cut -d : -f "$1"
}

refuse() { # WHY
  echo "svc: $1. Rename it, then: dpkg --configure svc" >&2
  exit 1
}

# Of the server, and of the process that everything goes through that sandboxes send: without a home, a login or a right. One that
# is there already may be the one of before, but not root by another name: nothing would be kept apart then.
make_user() { # NAME
  if entry=$(getent passwd "$1"); then
    [ "$(echo "$entry" | field 3)" -ne 0 ] || refuse "the user $1 of this machine has the rights of root (user id 0)"
    [ "$(echo "$entry" | field 4)" -ne 0 ] || refuse "the user $1 of this machine is of the group of root (group id 0)"
    return 0
  fi
  group=--user-group
  if entry=$(getent group "$1"); then
    # Whoever is in it could read what the group may: the token of the runtime process.
    [ -z "$(echo "$entry" | field 4)" ] || refuse "the group $1 of this machine has members"
    [ "$(echo "$entry" | field 3)" -ne 0 ] || refuse "the group $1 of this machine is that of root (group id 0)"
    group=--gid=$1
  fi
  useradd --system "$group" --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$1"
}

case $1 in
configure)
  make_user svc
  make_user svc-egress
  # What sandboxes send must not come from who can read the keys.
  [ "$(getent passwd svc | field 3)" != "$(getent passwd svc-egress | field 3)" ] ||
    refuse 'the users svc and svc-egress of this machine have one user id'
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

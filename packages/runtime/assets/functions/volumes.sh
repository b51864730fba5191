# shellcheck shell=dash
# Volumes: subvolumes of the store, each with a limit.

volume_make() { # ID LIMIT: an empty limit leaves it as it is. Answers: made, subvolume
  set -e
  [ -d v ] || mkdir -m 700 v
  if [ ! -d "v/$1" ]; then
    btrfs subvolume create "v/$1" >/dev/null
    answer made yes
  fi
  store_limit "v/$1" "$2"
  store_identify "v/$1"
}

volume_remove() { # PATH: as a whole; nobody walks through what tenants wrote
  btrfs subvolume delete "$1" >/dev/null
}

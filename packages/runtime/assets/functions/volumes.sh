# shellcheck shell=dash
# Volumes: subvolumes of the store, each with a limit.

volume_make() { # ID LIMIT: an empty limit leaves it as it is. Answers: made, subvolume
  set -e
  [ -d v ] || mkdir -m 700 v
  if [ ! -d "v/$1" ]; then
    btrfs subvolume create "v/$1" >/dev/null
    answer made yes
  fi
  number=$(btrfs inspect-internal rootid "v/$1")
  # Not by its path: that way a volume which is full to the brim takes no other limit.
  [ -z "$2" ] || btrfs qgroup limit "$2" "0/$number" . >/dev/null
  answer subvolume "$number"
}

volume_remove() { # PATH: as a whole; nobody walks through what tenants wrote
  btrfs subvolume delete "$1" >/dev/null
}

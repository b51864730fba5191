# shellcheck shell=dash
# Volumes: subvolumes of the store, each with a limit.

volume_make() { # ID LIMIT: an empty limit leaves it as it is. Answers: subvolume
  set -e
  [ -d v ] || mkdir -m 700 v
  if [ ! -d "v/$1" ]; then
    # Under its name only when it is whole: on a full store any step may fail, and be tried again.
    ! store_is_subvolume "v/.new-$1" 2>/dev/null || btrfs subvolume delete "v/.new-$1" >/dev/null
    btrfs subvolume create "v/.new-$1" >/dev/null
    # Every user inside a sandbox may write to it: sandboxes know only that the volume is their team's.
    chmod 777 "v/.new-$1"
    mv -T "v/.new-$1" "v/$1"
  fi
  number=$(btrfs inspect-internal rootid "v/$1")
  # Not by its path: that way a volume which is full to the brim takes no other limit.
  [ -z "$2" ] || btrfs qgroup limit "$2" "0/$number" . >/dev/null
  answer subvolume "$number"
}

volume_remove() { # PATH: as a whole; nobody walks through what tenants wrote
  btrfs subvolume delete "$1" >/dev/null
}

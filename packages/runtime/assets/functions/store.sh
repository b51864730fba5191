# shellcheck shell=dash
# Where writable file systems, layers and checkpoints are. STORE is its directory, STORE_KIND `btrfs` or `plain`. Paths
# are relative to it.

in_store() { # FUNCTION ...: runs it in the directory of the store
  cd "$STORE" || exit 9
  "$@"
}

# Mounts the store, making it first where there is none. IMAGE: file; SIZE_MIB: how large, 0 for none; BELOW: directories that
# overlays have below parts of the store, with colons.
# Answers: kind, image (it is a file that grows), quota, fsid, problem (why there are no limits), failed (why there is no store).
store_mount() {
  mkdir -p "$STORE"
  chmod 700 "$STORE"
  kind=
  if mountpoint -q "$STORE"; then
    kind=image
  elif [ -e "$STORE/.plain" ]; then
    kind=plain
  elif [ "$(stat -f -c %T "$STORE")" = btrfs ] && { [ -d "$STORE/i" ] || ! store_is_below; }; then
    kind=own
  elif [ "$SIZE_MIB" = 0 ]; then
    answer problem 'disk limits need the btrfs store, which is turned off'
  elif ! command -v mkfs.btrfs >/dev/null; then
    answer problem 'mkfs.btrfs is missing (apt-get install btrfs-progs)'
  else
    store_mount_image || return 0
  fi
  case $kind in
  image)
    ! btrfs quota enable "$STORE" >/dev/null 2>&1 || answer quota yes
    answer kind btrfs
    answer image yes
    ;;
  own)
    answer kind btrfs
    if btrfs qgroup show "$STORE" >/dev/null 2>&1; then
      answer quota yes
    else
      answer problem 'quotas are off on the file system of the data directory (btrfs quota enable)'
    fi
    ;;
  *)
    : >"$STORE/.plain"
    answer kind plain
    ;;
  esac
  mkdir -p "$STORE/i" "$STORE/c" "$STORE/l" "$STORE/agents"
  # Root of an instance may not look into the store; what it runs from stands beside.
  mkdir -p /run/agents /run/mounts
  # An earlier version may have made the others for root alone.
  chmod a+rx "$STORE/agents" /run/mounts /run/nodes /run/dev /run/dev/pts
  [ ! -d /run/sys ] || chmod -R a+rX /run/sys
  mountpoint -q /run/agents || mount --bind -o "$BOUND_FLAGS" "$STORE/agents" /run/agents
  # A restore hides directories of /proc behind it, as the OCI runtime does behind one each.
  mkdir -p /run/empty
  mkdir -p /run/images
  mountpoint -q /run/images || mount -t tmpfs -o nosuid,nodev,mode=700,size=25% tmpfs /run/images
  mountpoint -q /run/empty || mount -t tmpfs -o ro,size=0k tmpfs /run/empty
  answer fsid "$(btrfs filesystem show "$STORE" 2>/dev/null | sed -n 's/.*uuid: //p' | head -n 1)"
}

# Succeeds if the store's directory is on the file system of a lower layer of overlays: files of both could then have the
# same device and inode number in a sandbox.
store_is_below() (
  own=$(findmnt -n -o MAJ:MIN -T "$STORE")
  IFS=:
  for directory in $BELOW; do
    [ "$(findmnt -n -o MAJ:MIN -T "$directory")" != "$own" ] || exit 0
  done
  exit 1
)

store_mount_image() { # sets kind; fails when there was an image already, which may hold anything, and it cannot be mounted
  modprobe -q btrfs 2>/dev/null
  modprobe -q loop 2>/dev/null
  made=
  if [ ! -e "$IMAGE" ]; then
    made=yes
    rm -f "$IMAGE.new"
    : >"$IMAGE.new"
    # On btrfs: what is in the image is copied on write already.
    chattr +C "$IMAGE.new" 2>/dev/null
    truncate -s "${SIZE_MIB}M" "$IMAGE.new" &&
      mkfs.btrfs -q -f -m single -d single "$IMAGE.new" >/dev/null &&
      mv "$IMAGE.new" "$IMAGE"
  fi
  # btrfs frees deleted data after a commit, and commits every half minute by itself.
  if error=$(mount -t btrfs -o loop,noatime,nosuid,nodev,discard=async,commit=5 "$IMAGE" "$STORE" 2>&1); then
    kind=image
  elif [ -z "$made" ]; then
    answer failed "$(one_line "$error")"
    return 1
  else
    answer problem "the store image cannot be mounted: $(one_line "$error")"
    rm -f "$IMAGE"
  fi
}

store_unmount() {
  ! mountpoint -q /run/agents || umount -l /run/agents
  umount "$STORE" || umount -l "$STORE"
}

store_make_empty() { # TARGET: an empty writable part
  case $STORE_KIND in
  btrfs) btrfs subvolume create "$1" >/dev/null ;;
  *) mkdir "$1" ;;
  esac
}

store_copy() { # SOURCE TARGET: copy-on-write where the file system can
  case $STORE_KIND in
  btrfs) btrfs subvolume snapshot "$1" "$2" >/dev/null ;;
  *) cp -a --reflink=auto "$1" "$2" ;;
  esac
}

store_limit() { # TARGET LIMIT: of a subvolume; an empty limit sets none
  [ -z "$2" ] || btrfs qgroup limit "$2" "$1" >/dev/null
}

# Removes a tree that may hold one subvolume or be one; the command removes any tree. What is beside a subvolume, and in none, is
# of the driver's own making: it needs no jail, which costs as much processor time as half a start.
store_remove() { # TARGET COMMAND ...
  target=$1
  shift
  if [ "$STORE_KIND" = btrfs ]; then
    if [ -d "$target/sv" ] && btrfs subvolume delete "$target/sv" >/dev/null 2>&1 && ! store_is_subvolume "$target"; then
      rm -rf --one-file-system -- "$target"
      return
    fi
    ! btrfs subvolume delete "$target" >/dev/null 2>&1 || return 0
    [ -e "$target" ] || return 0
  fi
  "$@"
}

store_is_subvolume() { # PATH: by the number that btrfs gives to the first directory of each
  [ "$(stat -c %i "$1")" = 256 ]
}

store_identify() { # PATH: answers the number of its subvolume
  answer subvolume "$(btrfs inspect-internal rootid "$1")"
}

store_measure() { # PATH: answers what its files take
  bytes=$(du -s -B1 "$1") || return
  answer bytes "${bytes%%[!0-9]*}"
}

store_reserve() { # FILE NOW DESIRED: makes the file that takes room as large as desired, bytes
  if [ "$3" -lt "$2" ]; then
    # On a full store there may be no room to make a file shorter, but there is to remove it.
    truncate -s "$3" "$1" 2>/dev/null || rm -f "$1"
    # Free room counts again only after a commit; until then the next look would take more away.
    btrfs filesystem sync . >/dev/null
  else
    # Programs write meanwhile: half of what was free a moment ago is still to be had.
    fallocate -l "$3" "$1" || fallocate -l $((($2 + $3) / 2)) "$1"
  fi
}

# A deleted subvolume is freed after the next commit, which btrfs makes every half minute by itself.
store_free_deleted() {
  btrfs filesystem sync . >/dev/null && btrfs subvolume sync . >/dev/null
}

store_trim() {
  fstrim .
}

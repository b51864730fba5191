# shellcheck shell=dash
# Mounts of an instance live in memory of the namespace: nothing that is removed by path lies below or above them.

# Mounts everything with ids of its own; variables as in instance_boot.
mounts_own() { # COUNT SOURCE ...
  [ "$1" = 0 ] || mkdir -p "$MOUNT_BINDS"
  perl "$SCRIPTS/own-mounts.pl" "$ARCH" "$FIRST_ID" "$AT" "$here/sv" "$ROOT_LAYERS" "$USR_LAYERS" "$IMAGES" \
    "$OWN_USERS" "$MOUNT_BINDS" "${TRIAL:+$here/changes}" "$@"
}

mounts_leave() { # DIRECTORY of an instance's mounts; fine when there are none
  [ -d "$1" ] || return 0
  for point in "$1"/*; do
    umount "$point" || umount -l "$point"
    rmdir "$point"
  done 2>/dev/null
  rmdir "$1"
}

# Tries to mount a file system with ids of its own.
mounts_try_own() {
  here=i/.try
  AT=/run/instances/.try
  MOUNT_BINDS=$AT/binds
  mounts_leave "$MOUNT_BINDS"
  mounts_leave "$AT"
  mkdir -p $here/sv/u $here/sv/w $here/sv/uu $here/sv/uw $here/source $AT/m $AT/usr
  mounts_own 1 "$PWD/$here/source" && : >$AT/m/made && chown "$FIRST_ID:$FIRST_ID" $AT/m/made &&
    [ "$(stat -c %u:%g $here/sv/u/made)" = 0:0 ]
  code=$?
  mounts_leave "$MOUNT_BINDS"
  mounts_leave "$AT"
  "$@"
  return $code
}

# Binds of the host directories that are mounted into an instance: they let no set-uid program and no device node have any
# effect. OCI runtimes differ in what they make of such options. Their flags are the same on every host, regardless of those of the
# file system that a directory is on: a restore repeats the flags of the time of the checkpoint, and may not change one.
BOUND_FLAGS=nosuid,nodev,exec,noatime

# In a trial a restore makes files anew, which running programs may be using: it sees the directories, and changes go to another place.
mounts_bind() { # DIRECTORY COUNT SOURCE ...: the first COUNT sources, as DIRECTORY/0, DIRECTORY/1 ...
  directory=$1
  count=$2
  shift 2
  mkdir -p "$directory"
  number=0
  for source in "$@"; do
    [ "$number" != "$count" ] || break
    if [ -d "$source" ]; then mkdir "$directory/$number"; else : >"$directory/$number"; fi
    if [ -n "$TRIAL" ] && [ -d "$source" ]; then
      mkdir -p "$here/changes/u$number" "$here/changes/w$number"
      mount -t overlay overlay -o "nosuid,nodev,noatime,lowerdir=$source,upperdir=$here/changes/u$number,workdir=$here/changes/w$number" \
        "$directory/$number"
    else
      mount --bind -o "$BOUND_FLAGS" "$source" "$directory/$number"
    fi
    number=$((number + 1))
  done
}

mounts_unbind() { # DIRECTORY; fine when there are none
  [ -d "$1" ] || return 0
  for bound in "$1"/*; do
    umount -l "$bound"
    rmdir "$bound" || rm -f "$bound"
  done 2>/dev/null
  rmdir "$1"
}

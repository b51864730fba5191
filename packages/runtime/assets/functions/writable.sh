# shellcheck shell=dash
# Writable parts of instances: upper and work directories of the overlays of / and /usr.
#
# btrfs numbers the files of a subvolume from its highest number on, and an overlay shows the numbers of all its parts that are of
# one file system as they are: files of the writable part and of a layer could not be distinguished. So the writable part is
# a copy of one without files, whose directories have numbers above those of every layer below.

writable_make() { # DIRECTORY
  mkdir -m 755 "$1/u" "$1/u/etc" "$1/w" "$1/uu" "$1/uw"
}

writable_begin() { # TARGET EMPTY: without files. EMPTY: one to copy; nothing there: numbered from the beginning
  if [ -n "$2" ] && [ -d "$2" ]; then
    store_copy "$2" "$1"
  else
    store_make_empty "$1"
    writable_make "$1"
  fi
}

# Files that overlays keep beside a writable part are of use to that part alone, and not to a copy of it.
writable_forget() { # DIRECTORY
  for kept in "$1"/w/* "$1"/uw/*; do
    [ -e "$kept" ] || continue
    rm -rf "$1"/w/* "$1"/uw/*
    return
  done
}

# A copy of one that an earlier version made, its files numbered anew.
writable_renumber() { # SOURCE TARGET EMPTY
  writable_begin "$2" "$3"
  rmdir "$2/u/etc" "$2/u" "$2/uu"
  cp -a --reflink=auto "$1/u" "$1/uu" "$2"
}

# The one to copy for what stands on the layer DRAFT, as DRAFT/sv.
writable_of_layer() { # DRAFT COMMAND ...: the command removes the copies of the layer's files
  [ "$STORE_KIND" = btrfs ] || return 0
  draft=$1
  shift
  store_copy "$draft" "$draft/sv" && writable_make "$draft/sv" && "$@"
}

# The one to copy for what stands on the skeleton alone, as `empty`.
writable_of_skeleton() {
  [ "$STORE_KIND" = btrfs ] && [ ! -d empty ] || return 0
  set -e
  highest=$(find base usr-mask -printf '%i\n' | sort -n | tail -n 1)
  # Where an earlier version made the skeleton on the host's own btrfs, its numbers are out of reach.
  [ "$highest" -lt 100000 ] || return 0
  [ ! -d empty.new ] || btrfs subvolume delete empty.new >/dev/null
  store_make_empty empty.new
  mkdir empty.new/numbers
  seq "$highest" | (cd empty.new/numbers && xargs touch)
  writable_make empty.new
  rm -rf empty.new/numbers
  mv empty.new empty
}

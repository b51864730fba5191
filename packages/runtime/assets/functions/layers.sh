# shellcheck shell=dash
# Layers: file systems that instances stand on.

# Makes a layer of what an instance wrote, of which DRAFT is a copy. /usr of the base is an overlay of its own; in a layer
# it stands where it belongs. Answers: bytes.
layer_of_instance() { # DRAFT COMMAND ...: the command removes what is no part of a layer
  set -e
  draft=$1
  shift
  if ! rmdir "$draft/uu" 2>/dev/null; then
    mv -T "$draft/u/usr" "$draft/uw/mount-point" 2>/dev/null || true
    mv -T "$draft/uu" "$draft/u/usr"
  fi
  "$@"
  mv "$draft/u" "$draft/root"
  store_measure "$draft/root"
}

layer_begin() { # DRAFT: an empty layer, with numbers above those of all others, as it may be put on any
  highest=$(stat -c '%i %n' empty/u l/*/sv/u 2>/dev/null | sort -n | tail -n 1)
  from=${highest#* }
  # A layer may be deleted meanwhile.
  writable_begin "$1" "${from%/u}" || writable_begin "$1" empty || return
  mkdir "$1/root"
  rmdir "$1/u/etc" "$1/u" "$1/w" "$1/uu" "$1/uw"
}

layer_of_archive() { # DRAFT COMMAND ...: the same for what was unpacked into DRAFT/root
  draft=$1
  shift
  "$@" && store_measure "$draft/root"
}

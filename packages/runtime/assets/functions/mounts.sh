# shellcheck shell=dash
# Binds of the host directories that are mounted into an instance: they let no set-uid program and no device node have any
# effect. OCI runtimes differ in what they make of such options. They stand in memory of the namespace: nothing that is
# removed by path lies below or above.

mounts_bind() { # DIRECTORY COUNT SOURCE ...: the first COUNT sources, as DIRECTORY/0, DIRECTORY/1 ...
  directory=$1
  count=$2
  shift 2
  mkdir -p "$directory"
  number=0
  for source in "$@"; do
    [ "$number" != "$count" ] || break
    if [ -d "$source" ]; then mkdir "$directory/$number"; else : >"$directory/$number"; fi
    mount --bind -o nosuid,nodev "$source" "$directory/$number"
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

# shellcheck shell=dash
# Copies of what a backup reads, beside the things themselves. Their names are those of drafts and of what is about to go: a
# driver that starts removes what a killed backup left.

backup_copy_of() { # FOLDER ID RUN: prints the path of the copy
  case $1 in
  v) echo "v/.gone-backup-$3-$2" ;;
  *) echo "$1/.backup-$3-$2" ;;
  esac
}

# Copies what is not copied yet. Answers: <folder>/<id> of each copy.
backup_stage() { # RUN
  for folder in l c v; do
    for path in "$folder"/*; do
      [ -d "$path" ] || continue
      id=${path#*/}
      copy=$(backup_copy_of "$folder" "$id" "$1")
      [ -d "$copy" ] || backup_copy "$folder" "$path" "$copy" || {
        backup_remove "$copy"
        # An entry that was deleted meanwhile is not packed.
        [ ! -d "$path" ] || return 1
        continue
      }
      answer "$folder/$id" "$copy"
    done
  done
}

# Layers and checkpoints never change, so their files need no copy of their own. What is deleted meanwhile loses its name
# first: the last step fails then.
backup_copy() { # FOLDER PATH COPY
  case $STORE_KIND-$1 in
  btrfs-c)
    mkdir "$3" && cp -al "$2/record.json" "$2/img" "$3" && btrfs subvolume snapshot -r "$2/sv" "$3/sv" >/dev/null
    ;;
  btrfs-*) btrfs subvolume snapshot -r "$2" "$3" >/dev/null ;;
  *) cp -al "$2" "$3" && [ -d "$2" ] ;;
  esac
}

backup_remove() { # COPY
  [ -e "$1" ] || return 0
  if [ "$STORE_KIND" = btrfs ]; then
    ! btrfs subvolume delete "$1/sv" >/dev/null 2>&1 || true
    ! btrfs subvolume delete "$1" >/dev/null 2>&1 || return 0
  fi
  rm -rf --one-file-system -- "$1"
}

backup_drop() { # RUN: removes all copies
  for copy in l/.backup-"$1"-* c/.backup-"$1"-* v/.gone-backup-"$1"-*; do backup_remove "$copy" || return 1; done
}

# A checkpoint to unpack into. Its files get numbers above those of all layers, like those of an instance.
restore_begin_checkpoint() { # CHECKPOINT
  mkdir -p c && mkdir "$1" && layer_begin "$1/sv" && rmdir "$1/sv/root"
}

restore_begin_volume() { # VOLUME: its own mode comes with its files
  mkdir -p -m 700 v && store_make_empty "$1"
}

restore_discard() { # removes the subvolumes of a store that is of no use
  [ "$STORE_KIND" = btrfs ] || return 0
  for path in i/*/sv l/*/sv l/.[!.]* l/* c/.[!.]*/sv c/*/sv v/.[!.]* v/* empty empty.new; do
    ! store_is_subvolume "$path" 2>/dev/null || btrfs subvolume delete "$path" >/dev/null
  done
}

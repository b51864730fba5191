# shellcheck shell=dash
# Starting and removing an instance. INSTANCE is its name, its directory i/INSTANCE in the store.

# Makes the file system of an instance, starts it and joins it to the network.
#   FROM             writable part of a checkpoint; empty: a fresh one
#   EMPTY            empty writable part to begin with, where it exists
#   RENUMBER         set: the one of the checkpoint has numbers that files of layers may have too
#   RESTORING        set: memory is restored, so the files that name the machine stay as they are
#   IMAGES           directory of the images of its memory, seen as AT/img until it runs; empty: none
#   OWN_USERS        file that is seen there in place of one of that name: the map of its own ids
#   TRIAL            file that CRIU's hook makes in place of letting it run, and nothing that is mounted is changed; empty: it runs
#   DISK_LIMIT       of the writable part; empty: none
#   ROOT_LAYERS, USR_LAYERS   lower directories of / and /usr, uppermost first, with colons; no USR_LAYERS: /usr is in /
#   AT               directory of its mounts, in memory of the namespace, with the mount points `m` and `usr`
#   FIRST_ID, ARCH   first of its own range of ids, and the processor as Node names it; no FIRST_ID: it has the host's ids
#   LIMITS           options of prlimit for its first processes; empty: none
#   MOUNT_BINDS      directory for the binds of mounts
#   HOST_NAME, NAME_SERVERS   what the machine is called, and its name servers, with blanks
#   CRIU             directory of CRIU for an OCI runtime that restores; empty: none
#   CGROUPS, FALLBACK, OCI   see instance_start
#   NETWORK_FIRST    set: the runtime takes over a network namespace that is ready
#   LINK, GATEWAY, ADDRESS, PING_GROUPS   see network_attach
# Arguments: how many mounts, their sources, the command line that starts it. Answers: pid.
# Every process that it starts costs a millisecond or two, so it starts few.
instance_boot() {
  set -e
  here=i/$INSTANCE
  if [ -z "$FROM" ]; then
    writable_begin "$here/sv" "$EMPTY"
  elif [ -n "$RENUMBER" ]; then
    writable_renumber "$FROM" "$here/sv" "$EMPTY"
  else
    store_copy "$FROM" "$here/sv"
    # Checkpoints of this version have forgotten it already.
    writable_forget "$here/sv"
  fi
  limiting=
  if [ -n "$DISK_LIMIT" ]; then
    store_limit "$here/sv" "$DISK_LIMIT" &
    limiting=$!
  fi
  [ -n "$RESTORING" ] || instance_name "$here/sv/u/etc"
  mounts=$1
  shift
  instance_mount "$mounts" "$@"
  shift "$mounts"
  [ -z "$NETWORK_FIRST" ] || gvisor_keep_tmp "$AT/m/tmp"
  [ -z "$limiting" ] || wait "$limiting"
  [ -z "$NETWORK_FIRST" ] || network_prepare "$INSTANCE"
  # For CRIU's hook.
  [ -z "$IMAGES" ] || export STORE SCRIPTS TRIAL HOST_NAME PING_GROUPS RESTORING NETWORK_FIRST NEAR GROUP GATEWAY ADDRESS FORMER_ADDRESSES
  instance_start "$@" </dev/null >/dev/null 2>&1 || [ -e "$TRIAL" ] || instance_explain
  [ -z "$TRIAL" ] || return 0
  pid=
  read -r pid <"$here/pid" || :
  answer pid "$pid"
  [ -z "$LIMITS" ] || instance_limit "$pid"
  # CRIU has its hook attach what it restores.
  [ -n "$NETWORK_FIRST$IMAGES" ] || network_attach "$pid"
  [ -z "$IMAGES" ] || umount -l "$AT/img"
}

instance_mount() { # COUNT SOURCE ...: its file systems, and binds of the first COUNT sources
  count=$1
  shift
  if [ -n "$FIRST_ID" ]; then
    mounts_own "$count" "$@"
    return
  fi
  [ "$count" = 0 ] || mounts_bind "$MOUNT_BINDS" "$count" "$@"
  instance_overlay "$ROOT_LAYERS" "$here/sv/u" "$here/sv/w" "$AT/m"
  [ -z "$USR_LAYERS" ] || instance_overlay "$USR_LAYERS" "$here/sv/uu" "$here/sv/uw" "$AT/usr"
  [ -z "$IMAGES" ] || mount --bind -o nosuid,nodev "$IMAGES" "$AT/img"
  [ -z "$IMAGES" ] || mount --bind "$OWN_USERS" "$AT/img/${OWN_USERS##*/}"
}

instance_overlay() { # LOWER UPPER WORK TARGET
  mount -t overlay overlay -o "nodev,lowerdir=$1,upperdir=$2,workdir=$3,index=on,nfs_export=on" "$4"
}

# Gives the files that name the machine. They go into the writable part before anything runs, and never through a link
# that an earlier life of this file system may have planted.
instance_name() { # ETC
  if [ -n "$FROM" ]; then
    [ -e "$1" ] || [ -L "$1" ] || mkdir -m 755 "$1"
    [ -d "$1" ] && [ ! -L "$1" ] || return 0
    for file in hostname hosts resolv.conf; do
      # A directory in place of a file stays; the machine has no name in it then.
      [ -L "$1/$file" ] || [ ! -d "$1/$file" ] || continue
      rm -f "$1/$file"
      instance_write "$1" "$file"
    done
    return
  fi
  for file in hostname hosts resolv.conf; do instance_write "$1" "$file"; done
}

instance_write() { # ETC FILE
  case $2 in
  hostname) echo "$HOST_NAME" ;;
  hosts) printf '127.0.0.1 localhost %s\n::1 localhost\n' "$HOST_NAME" ;;
  resolv.conf) for server in $NAME_SERVERS; do echo "nameserver $server"; done ;;
  esac >"$1/$2"
}

# Starts it by a command line. CGROUPS: directories that the command enters before, with blanks; restored processes stay
# in the cgroup that CRIU is in. FALLBACK: OCI runtime to try with the same words when the first one fails.
instance_start() {
  if [ -n "$CGROUPS" ]; then
    (
      for cgroup in $CGROUPS; do echo 0 >"$cgroup/cgroup.procs" || exit; done
      exec "$@"
    )
    return
  fi
  [ -z "$CRIU" ] || PATH=$CRIU:$PATH
  ! "$@" || return 0
  [ -n "$FALLBACK" ] || return 1
  # The quicker runtime is the pickier one about a host's cgroups.
  rm -rf "${OCI:?}/$INSTANCE"
  shift
  "$FALLBACK" "$@"
}

# OCI runtimes set limits before they make the user namespace, which then holds all users in it together to them. So the
# limits of one user come afterwards, before the daemon starts any program.
instance_limit() { # PID
  limited=' '
  found=$1
  while [ -n "$found" ]; do
    for process in $found; do
      # shellcheck disable=SC2086 # Several options.
      prlimit --pid "$process" $LIMITS
      limited="$limited$process "
    done
    children=
    read -r children <"/proc/$1/task/$1/children" || :
    found=
    for process in $children; do
      case $limited in *" $process "*) ;; *) found="$found $process" ;; esac
    done
  done
}

instance_explain() { # fails, with what the logs say
  {
    echo 'The OCI runtime failed.'
    tail -n 5 "$here/wk/oci.log" || :
    grep -h Error "$here/wk/restore.log" | tail -n 5 || :
  } >&2 2>/dev/null
  exit 1
}

# Removes what a dead instance left. Nothing runs in there any more, so a second try finds what the first one left.
instance_remove() { # COMMAND ...: removes its directory, see store_remove
  here=i/$INSTANCE
  mounts_unbind "$MOUNT_BINDS"
  mounts_leave "$AT"
  # Where an earlier version mounted them.
  umount -l "$here/usr" "$here/m" 2>/dev/null
  rm -rf "${OCI:?}/$INSTANCE"
  network_detach "$LEASE"
  [ ! -e "/run/netns/$INSTANCE" ] || ip netns del "$INSTANCE"
  store_remove "$here" "$@"
  [ ! -e "$here" ]
}

# shellcheck shell=dash
# Functions for sandboxes with gVisor's kernel, in addition to those for the host's kernel.

# gVisor covers an empty /tmp with memory of its own, which would take files in it out of disk limits and snapshots. The
# directory that every desktop has there keeps it from that. Nothing runs in there yet; a link is left as it is.
gvisor_keep_tmp() { # DIRECTORY
  [ -d "$1" ] && [ ! -L "$1" ] || return 0
  [ -e "$1/.X11-unix" ] || [ -L "$1/.X11-unix" ] || mkdir -m 1777 "$1/.X11-unix"
}

# Ends what this host has open to the daemon of a sandbox. Connections of its programs among themselves that lived through a restore
# and ended since are reported for ever in later copies; so before it is stored the daemon has to end what it tunnels.
gvisor_hang_up() { # ADDRESS DAEMON_PORT
  ss -K -H dst "$1" dport = "$2" >/dev/null 2>&1
  ip netns exec gw ss -K -H dst "$1" dport = "$2" >/dev/null 2>&1
  return 0
}

# Stores memory and file system of one moment. ADDRESS: of the sandbox; RUNSC: command line of the runtime for this sandbox, up to the
# verb; WORK: for logs. The sandbox is frozen afterwards.
#
# Connections over the network cannot be stored. gVisor cuts them off while it writes, and what it then writes of an epoll
# that waits for one contradicts itself: in copies that epoll reports it for ever and nothing else. So the first checkpoint
# goes to where nothing fits: it fails at its first bytes, but has cut all of them off by then, while the programs are frozen.
# A program must not be closing one at that time, TLS above all: then too copies report it for ever, and under a number that a
# new connection gets. So what this host holds ends only when the programs are frozen.
gvisor_store() { # NAME IMAGES SOURCE TARGET LIMIT_S RUNSC ...
  name=$1 images=$2 source=$3 target=$4 limit=$5
  shift 5
  timeout -s KILL "$limit" "$@" pause "$name" >"$WORK/pause.log" 2>&1 </dev/null || return
  mkdir "$WORK/full"
  mount -t tmpfs -o mode=700,size=4k full "$WORK/full" || return
  timeout -s KILL "$limit" "$@" checkpoint --leave-running --image-path "$WORK/full" "$name" >"$WORK/cut.log" 2>&1 </dev/null
  umount -l "$WORK/full"
  ss -K -H dst "$ADDRESS" >/dev/null 2>&1
  ip netns exec gw ss -K -H dst "$ADDRESS" >/dev/null 2>&1
  timeout -s KILL "$limit" "$@" checkpoint --leave-running --image-path "$images" "$name" >"$WORK/dump.log" 2>&1 </dev/null ||
    return
  # Only now: the checkpoint writes back what the sandbox had not yet given to its files.
  store_copy "$source" "$target"
}

gvisor_resume() { # NAME LIMIT_S RUNSC ...: fails for one that is not frozen
  name=$1 limit=$2
  shift 2
  timeout -s KILL "$limit" "$@" resume "$name" >/dev/null 2>&1 </dev/null
}

gvisor_exec() { # RUNSC ... exec ...: its standard streams must not be pipes of ours, or their reader waits for the sandbox
  "$@" >/dev/null 2>&1 </dev/null
}

gvisor_pipes() { # PATH ...
  [ -d "${1%/*}" ] || mkdir -m 700 "${1%/*}"
  mkfifo -m 600 "$@"
}

gvisor_await() { # INPUT OUTPUT PID_FILE RUNSC ... exec ...: runs it with both pipes, which lose their names; nobody needs the pid
  input=$1 output=$2 pid_file=$3
  shift 3
  "$@" <"$input" >"$output" 2>/dev/null
  code=$?
  rm -f "$input" "$output" "$pid_file"
  return "$code"
}

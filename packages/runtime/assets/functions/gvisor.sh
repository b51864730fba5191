# shellcheck shell=dash
# What sandboxes with gVisor's kernel need beside those of the host's.

# gVisor covers an empty /tmp with memory of its own, which would take files in it out of disk limits and snapshots. The
# directory that every desktop has there keeps it from that. Nothing runs in there yet; a link is left as it is.
gvisor_keep_tmp() { # DIRECTORY
  [ -d "$1" ] && [ ! -L "$1" ] || return 0
  [ -e "$1/.X11-unix" ] || [ -L "$1/.X11-unix" ] || mkdir -m 1777 "$1/.X11-unix"
}

# Stores memory and file system of one moment. ADDRESS: of the sandbox. Connections over the network cannot be stored. What
# gVisor cuts off by itself makes a program that waits with epoll, as Node does, spin for ever after a restore: so the
# connections that this host holds, those to the daemon above all, end before, in time for both sides to notice. RUNSC: command line of the runtime for this sandbox, up to the verb; WORK:
# for logs. The sandbox stands still afterwards.
gvisor_store() { # NAME IMAGES SOURCE TARGET LIMIT_S RUNSC ...
  name=$1 images=$2 source=$3 target=$4 limit=$5
  shift 5
  ss -K -H dst "$ADDRESS" >/dev/null 2>&1
  ip netns exec gw ss -K -H dst "$ADDRESS" >/dev/null 2>&1
  sleep 0.05
  timeout -s KILL "$limit" "$@" pause "$name" >"$WORK/pause.log" 2>&1 </dev/null || return
  timeout -s KILL "$limit" "$@" checkpoint --leave-running --image-path "$images" "$name" >"$WORK/dump.log" 2>&1 </dev/null ||
    return
  # Only now: the checkpoint writes back what the sandbox had not yet given to its files.
  store_copy "$source" "$target"
}

gvisor_resume() { # NAME LIMIT_S RUNSC ...: fails for one that does not stand still
  name=$1 limit=$2
  shift 2
  timeout -s KILL "$limit" "$@" resume "$name" >/dev/null 2>&1 </dev/null
}

gvisor_exec() { # RUNSC ... exec ...: its standard streams must not be pipes of ours, or whoever reads them waits for the sandbox
  "$@" >/dev/null 2>&1 </dev/null
}

gvisor_pipes() { # PATH ...
  [ -d "${1%/*}" ] || mkdir -m 700 "${1%/*}"
  mkfifo -m 600 "$@"
}

gvisor_await() { # INPUT OUTPUT RUNSC ... exec ...: runs it with both pipes, which lose their names
  input=$1 output=$2
  shift 2
  "$@" <"$input" >"$output" 2>/dev/null
  code=$?
  rm -f "$input" "$output"
  return "$code"
}

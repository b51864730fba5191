# shellcheck shell=sh
# Takes packages of Debian without touching the host's: apt with lists, cache and state of its own, below $work.
# A script that sources it has set $here, where downloads.txt is, and $program, its name for messages.
: "${here:?}" "${program:?}"

# shellcheck source-path=SCRIPTDIR source=debian-mirror.sh
. "$here/debian-mirror.sh"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

require_programs() { # PROGRAM...
  for tool in "$@"; do
    command -v "$tool" >/dev/null || { echo "$program: $tool is needed (a Debian host)" >&2; exit 3; }
  done
}

find_pin() { # PACKAGE: sets architecture, pinned, its version of downloads.txt, and pinned_sum; empty where it has none
  architecture=$(dpkg --print-architecture)
  pinned=$(awk -v p="$1" -v a="$architecture" '$1 == p && $3 == a { print $2 }' "$here/downloads.txt")
  pinned_sum=$(awk -v p="$1" -v a="$architecture" '$1 == p && $3 == a { sub("sha256:", "", $4); print $4 }' "$here/downloads.txt")
}

require_mirror() { # sets mirror
  mirror=$(debian_mirror debian)
  [ -n "$mirror" ] || { echo "$program: no Debian mirror in the apt sources; set SVC_DEBIAN_MIRROR" >&2; exit 3; }
  [ -r "$keyring" ] || { echo "$program: $keyring is missing (apt-get install debian-archive-keyring)" >&2; exit 3; }
}

lock_directory() { # DIRECTORY: makes it, for this process alone until it ends
  mkdir -p "$1"
  exec 9>"$1/.lock"
  ! command -v flock >/dev/null || flock 9
}

open_apt() { # DIRECTORY SUITE: makes $work in the directory, removed at the end, and fetches the lists
  work=$(mktemp -d "$1/.work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root" "$work/parts"
  : >"$work/status"
  echo "deb [signed-by=$keyring] $mirror $2 main" >"$work/sources.list"
  # The lists of a snapshot are as old as it is; from a mirror that moves, old lists are refused.
  dated=
  case $mirror in *//snapshot.*) dated='-o Acquire::Check-Valid-Until=false' ;; esac
  private_apt update
}

private_apt() {
  # shellcheck disable=SC2086 # One option or none.
  apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/parts" \
    -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Debug::NoLocking=1 -o Acquire::Retries=3 $dated "$@" </dev/null
}

download() { # PACKAGE[=VERSION]: into $work/cache/archives, with what it depends on
  private_apt install --download-only --no-install-recommends -y "$1" >/dev/null
}

require_pinned_sum() { # PACKAGE: ends the program when what was downloaded is not what is pinned
  found=$(sha256sum "$work"/cache/archives/"$1"_*.deb | cut -d ' ' -f 1)
  [ "$found" = "$pinned_sum" ] && return
  echo "$program: the package $1 $pinned has the checksum $found, not $pinned_sum: nothing was installed. Do not use this mirror." >&2
  exit 1
}

snapshot_advice() { # SUITE
  echo "For exactly that version set SVC_DEBIAN_MIRROR=https://snapshot.debian.org/archive/debian/DATE/ with a DATE (YYYYMMDDThhmmssZ) on which $1 had it."
}

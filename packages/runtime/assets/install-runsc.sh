#!/bin/sh
# Puts a private copy of gVisor's runtime into one directory. Host packages, apt lists and /usr stay as they are.
# usage: install-runsc.sh DIRECTORY     (needs apt-get, dpkg-deb and a Debian mirror in the host's apt sources)
# Environment: SVC_DEBIAN_MIRROR overrides the mirror, SVC_RUNSC_SUITE the suite (default trixie).
#
# Only the build of downloads.txt is taken: builds of the same version by other compilers stop at their second fork. What
# comes is signed by Debian's archive keys, has the pinned checksum, and is tried with ten forks before it is kept.
set -eu
directory=${1:?directory}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
suite=${SVC_RUNSC_SUITE:-trixie}
for tool in apt-get dpkg dpkg-deb sha256sum unshare; do
  command -v "$tool" >/dev/null || { echo "install-runsc: $tool is needed (a Debian host)" >&2; exit 3; }
done
architecture=$(dpkg --print-architecture)
pinned=$(awk -v a="$architecture" '$1 == "runsc" && $3 == a { print $2 }' "$here/downloads.txt")
pinned_sum=$(awk -v a="$architecture" '$1 == "runsc" && $3 == a { sub("sha256:", "", $4); print $4 }' "$here/downloads.txt")
[ -n "$pinned" ] || { echo "install-runsc: no build of gVisor is tested on $architecture" >&2; exit 3; }

# shellcheck source-path=SCRIPTDIR source=debian-mirror.sh
. "$here/debian-mirror.sh"
mirror=$(debian_mirror debian)
[ -n "$mirror" ] || { echo 'install-runsc: no Debian mirror in the apt sources; set SVC_DEBIAN_MIRROR' >&2; exit 3; }
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || { echo "install-runsc: $keyring is missing (apt-get install debian-archive-keyring)" >&2; exit 3; }

mkdir -p "$directory"
exec 9>"$directory/.lock"
! command -v flock >/dev/null || flock 9
if [ -x "$directory/runsc" ] && [ "$(cat "$directory/PACKAGE" 2>/dev/null)" = "runsc_${pinned}_$architecture $pinned_sum" ]; then
  echo "runsc $pinned is already in $directory"
  exit 0
fi
work=$(mktemp -d "$directory/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root" "$work/parts"
: >"$work/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
private_apt() {
  # shellcheck disable=SC2086 # One option or none.
  apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/parts" \
    -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Debug::NoLocking=1 -o Acquire::Retries=3 $dated "$@" </dev/null
}
# The lists of a snapshot are as old as it is; from a mirror that moves, old lists are refused.
dated=
case $mirror in *//snapshot.*) dated='-o Acquire::Check-Valid-Until=false' ;; esac
private_apt update
if ! private_apt install --download-only --no-install-recommends -y "runsc=$pinned" >/dev/null 2>"$work/log"; then
  cat "$work/log" >&2
  echo "install-runsc: the mirror has no runsc $pinned in $suite: nothing was installed. For exactly that version set SVC_DEBIAN_MIRROR=https://snapshot.debian.org/archive/debian/DATE/ with a DATE (YYYYMMDDThhmmssZ) on which $suite had it." >&2
  exit 1
fi
found=$(sha256sum "$work"/cache/archives/runsc_*.deb | cut -d ' ' -f 1)
if [ "$found" != "$pinned_sum" ]; then
  echo "install-runsc: the package runsc $pinned has the checksum $found, not $pinned_sum: nothing was installed. Do not use this mirror." >&2
  exit 1
fi
dpkg-deb -x "$work"/cache/archives/runsc_*.deb "$work/root"
runsc=$work/root/usr/bin/runsc
[ -x "$runsc" ] || { echo 'install-runsc: the package holds no runsc' >&2; exit 1; }

# Ten forks in a sandbox that sees the host's programs, read-only, and no network.
mkdir -p "$work/bundle"
cat >"$work/bundle/config.json" <<'JSON'
{ "ociVersion": "1.0.0", "root": { "path": "/", "readonly": true },
  "process": { "user": { "uid": 0, "gid": 0 }, "cwd": "/", "env": ["PATH=/usr/bin:/bin"],
    "args": ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true || exit 1; done"] },
  "linux": { "namespaces": [{ "type": "pid" }, { "type": "network" }, { "type": "ipc" }, { "type": "uts" }, { "type": "mount" }] } }
JSON
if ! timeout 60 unshare -m "$runsc" --root "$work/state" --platform=systrap --overlay2=none --network=none --ignore-cgroups \
  run --bundle "$work/bundle" "svc-try-$$" >"$work/log" 2>&1 </dev/null; then
  tail -n 5 "$work/log" >&2
  echo 'install-runsc: gVisor does not run on this host: ten forks of /bin/true failed. Nothing was installed.' >&2
  exit 1
fi
mv "$runsc" "$directory/runsc"
echo "runsc_${pinned}_$architecture $pinned_sum" >"$directory/PACKAGE"
echo "runsc $pinned installed in $directory"

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
program=install-runsc
# shellcheck source-path=SCRIPTDIR source=private-apt.sh
. "$here/private-apt.sh"
require_programs apt-get dpkg dpkg-deb sha256sum unshare
find_pin runsc
[ -n "$pinned" ] || { echo "install-runsc: no build of gVisor is tested on $architecture" >&2; exit 3; }
require_mirror

lock_directory "$directory"
if [ -x "$directory/runsc" ] && [ "$(cat "$directory/PACKAGE" 2>/dev/null)" = "runsc_${pinned}_$architecture $pinned_sum" ]; then
  echo "runsc $pinned is already in $directory"
  exit 0
fi
open_apt "$directory" "$suite"
if ! download "runsc=$pinned" 2>"$work/log"; then
  cat "$work/log" >&2
  echo "install-runsc: the mirror has no runsc $pinned in $suite: nothing was installed. $(snapshot_advice "$suite")" >&2
  exit 1
fi
require_pinned_sum runsc
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

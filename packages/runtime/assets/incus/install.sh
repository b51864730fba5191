#!/bin/sh
# Builds a private root file system with Incus in it, for trial clusters. Touches nothing of the host but the directory.
# usage: install.sh DIRECTORY     as root; needs mmdebstrap and a Debian mirror in the host's apt sources
# Environment: SVC_DEBIAN_MIRROR overrides the mirror, SVC_INCUS_SUITE the suite (default trixie, which has 6.0 LTS).
set -eu
directory=${1:?directory}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
suite=${SVC_INCUS_SUITE:-trixie}
PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH

fail() { echo "install-incus: $*" >&2; exit 3; }

[ "$(id -u)" = 0 ] || fail 'it takes root'
for tool in mmdebstrap apt-get unshare; do
  command -v $tool >/dev/null || fail "$tool is missing (apt-get install mmdebstrap)"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keyring ] || fail "$keyring is missing (apt-get install debian-archive-keyring)"
# shellcheck source-path=SCRIPTDIR source=../debian-mirror.sh
. "$here/../debian-mirror.sh"
mirror=$(debian_mirror debian)
mirror=${mirror:-http://deb.debian.org/debian}

mkdir -p "$directory"
# It holds set-user-id programs that nobody updates: out of reach of the host's users.
chmod 700 "$directory"
exec 9>"$directory/.lock"
! command -v flock >/dev/null || flock 9
packages=incus-base,btrfs-progs,iproute2,nftables,tini,ca-certificates
if [ "$(cat "$directory/RECIPE" 2>/dev/null)" = "$suite $packages" ] && [ -x "$directory/root/usr/libexec/incus/incusd" ]; then
  echo "Incus is already in $directory"
  exit 0
fi
rm -rf --one-file-system "$directory"/.draft.*
draft=$(mktemp -d "$directory/.draft.XXXXXX")
trap 'rm -rf --one-file-system "$draft"' EXIT
trap 'exit 1' INT TERM
# The lists of a snapshot are as old as it is; from a mirror that moves, old lists are refused.
valid=true
case $mirror in *//snapshot.*) valid=false ;; esac
# In namespaces of its own: if this process is killed, those that it started end too, and their mounts with them.
setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child=KILL \
  mmdebstrap --mode=root --variant=minbase --include=$packages --aptopt="Acquire::Check-Valid-Until \"$valid\"" "$suite" "$draft/root" \
  "deb [signed-by=$keyring] $mirror $suite main" >&2
[ -x "$draft/root/usr/libexec/incus/incusd" ] || fail "the packages of $suite hold no Incus"
# Users of containers: a million ranges out of the upper half, each member's the same, so that containers can be moved.
echo 'root:1000000:1000000000' | tee "$draft/root/etc/subuid" >"$draft/root/etc/subgid"
rm -rf --one-file-system "$directory/root"
mv "$draft/root" "$directory/root"
echo "$suite $packages" >"$directory/RECIPE"
echo "Incus is installed in $directory"

#!/bin/sh
# Builds the root file system of the template `base`: Debian, by mmdebstrap from the host's own mirror, with Node and npm
# from the npm registry. Touches nothing of the host but the directory. Repeating it is cheap.
#
# usage: build.sh DIRECTORY [--rebuild]     as root; prints the name of the base on standard output, progress on standard error
#
# Environment: SVC_DEBIAN_MIRROR  where packages come from (default: the host's mirror, else deb.debian.org)
#              SVC_BASE_MIRROR    where `apt` in sandboxes gets packages from (default: deb.debian.org)
#
# DIRECTORY/NAME/root is the tree, DIRECTORY/NAME/base.json says what it is. NAME is trixie-RECIPE-CONTENT: the first is the
# hash of what decides how it is built, the second of what came of it. DIRECTORY/RECIPE is a link to the newest of that
# recipe, DIRECTORY/current to the newest of all.
set -eu
directory=${1:?directory}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
suite=trixie
sandbox_mirror=${SVC_BASE_MIRROR:-http://deb.debian.org/debian}
PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH

fail() { echo "base: $*" >&2; exit 3; }

recipe=$({
  cat "$here/packages.txt" "$here/draft.sh" "$here/customize.sh"
  grep -E '^(node-24|npm) ' "$here/../downloads.txt"
} | sha256sum | cut -c 1-12)
[ "${2:-}" != --recipe ] || { echo "$recipe"; exit 0; }
found() { # prints the name of a finished base of this recipe
  name=$(readlink "$directory/$recipe" 2>/dev/null) && grep -qsF "\"mirror\": \"$sandbox_mirror\"" "$directory/$name/base.json" && echo "$name"
}
if [ "${2:-}" != --rebuild ] && found; then exit 0; fi

[ "$(id -u)" = 0 ] || fail 'building it takes root'
for tool in mmdebstrap apt-get sha256sum tar; do
  command -v $tool >/dev/null || fail "$tool is missing (apt-get install mmdebstrap)"
done
unshare --mount --pid --fork true 2>/dev/null ||
  fail 'building it takes namespaces, which this process may not make: build it on the machine itself, not in a container'
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keyring ] || fail "$keyring is missing (apt-get install debian-archive-keyring)"
# shellcheck source-path=SCRIPTDIR source=../debian-mirror.sh
. "$here/../debian-mirror.sh"
mirror=$(debian_mirror debian)
mirror=${mirror:-http://deb.debian.org/debian}
security=$(debian_mirror debian-security)

mkdir -p "$directory"
# It holds set-user-id programs that nobody updates: out of reach of the host's users.
chmod 700 "$directory"
exec 9>"$directory/.lock"
# Two at once: the second takes what the first has made.
if command -v flock >/dev/null && ! flock -n 9; then
  echo 'base: it is being built already; waiting' >&2
  flock 9
fi
if [ "${2:-}" != --rebuild ] && found; then exit 0; fi
# Drafts of builds that were killed. Those of older versions may have mounts below them: once these are gone in a namespace,
# the directories can be removed there, which ends the mounts in all others.
# shellcheck disable=SC2016 # The inner shell and awk expand it.
unshare --mount --propagation private sh -ec '
  awk -v draft="$1/.draft." "index(\$5, draft) == 1 { print \$5 }" /proc/self/mountinfo | sort -r |
    while read -r path; do umount -l "$path"; done
  rm -rf --one-file-system "$1"/.draft.*' sh "$(cd "$directory" && pwd -P)"
draft=$(mktemp -d "$directory/.draft.XXXXXX")
chmod 755 "$draft"
building=
end_build() {
  if [ -n "$building" ]; then
    # The first process of a namespace takes all others along, and `unshare` waits for it.
    kill -KILL "$(cat "$draft/pid" 2>/dev/null)" 2>/dev/null || kill -KILL "$building" 2>/dev/null || true
    wait "$building" 2>/dev/null || true
  fi
  rm -rf "$draft"
}
trap end_build EXIT
trap 'exit 1' INT TERM
began=$(date +%s)
# If this process is killed, those end too, and their mounts with them. They hold the lock as well until they are gone.
setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child=KILL \
  sh "$here/draft.sh" "$draft" "$mirror" "$security" "$sandbox_mirror" $suite >&2 &
building=$!
wait "$building" || { status=$?; building=; exit $status; }
building=
content=$( (cat "$draft/packages.txt"; echo "$sandbox_mirror") | sha256sum | cut -c 1-12)
name=$suite-$recipe-$content
bytes=$(du -s -B1 "$draft/root" | cut -f 1)
printf '{ "name": "%s", "suite": "%s", "recipe": "%s", "mirror": "%s", "sizeBytes": %s, "buildSeconds": %s }\n' \
  "$name" $suite "$recipe" "$sandbox_mirror" "$bytes" "$(($(date +%s) - began))" >"$draft/base.json"
# The same packages make the same base: what stands on the one that is there goes on.
[ -e "$directory/$name/base.json" ] || { rm -rf "${directory:?}/$name"; mv "$draft" "$directory/$name"; }
ln -sfn "$name" "$directory/$recipe"
ln -sfn "$name" "$directory/current"
echo "base: done: $((bytes / 1000000)) MB in $directory/$name ($(($(date +%s) - began)) s)" >&2
echo "$name"

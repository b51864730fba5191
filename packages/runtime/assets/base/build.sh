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
  cat "$here/packages.txt" "$here/build.sh" "$here/customize.sh"
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
rm -rf "$directory"/.draft.*
draft=$(mktemp -d "$directory/.draft.XXXXXX")
chmod 755 "$draft"
fetching=
trap 'test -z "$fetching" || kill "$fetching" 2>/dev/null; rm -rf "$draft"' EXIT
trap 'exit 1' INT TERM
began=$(date +%s)
progress() { echo "base: $* ($(($(date +%s) - began)) s)" >&2; }

case $(dpkg --print-architecture) in
amd64) processor=x64 ;;
arm64) processor=arm64 ;;
*) fail "there is no Node for $(dpkg --print-architecture)" ;;
esac
# Each through the ordinary client, checked against what is pinned.
fetch() { # NAME PROCESSOR: unpacks it to $draft/NAME
  read -r version sum source <<PINNED
$(awk -v n="$1" -v p="$2" '$1 == n && $3 == p { print $2, $4, $5 }' "$here/../downloads.txt")
PINNED
  mkdir "$draft/$1"
  cd "$draft/$1"
  npm pack --silent --ignore-scripts --prefer-offline "${source#npm:}@$version" >/dev/null
  sum_found=$(sha512sum ./*.tgz | cut -d ' ' -f 1)
  if [ "sha512:$sum_found" != "$sum" ]; then
    echo "base: ${source#npm:}@$version has the checksum $sum_found, not ${sum#sha512:}: nothing was built" >&2
    return 1
  fi
  tar -xzf ./*.tgz --no-same-owner
  rm -f ./*.tgz
}
command -v npm >/dev/null || fail 'npm is missing, which gets Node for it'
(fetch node-24 $processor && fetch npm any) 2>"$draft/fetch.log" &
fetching=$!

progress "building $suite with $(grep -c '^[a-z]' "$here/packages.txt") packages and what they need, about a minute"
sources="deb [signed-by=$keyring] $mirror $suite main
deb [signed-by=$keyring] $mirror $suite-updates main"
[ -z "$security" ] || sources="$sources
deb [signed-by=$keyring] $security $suite-security main"
# What a sandbox has no use for: as in Debian's slim images.
excluded='man/* info/* locale/* doc/* doc-base/* lintian/* linda/* bug/* groff/*'
set -- --mode=root --variant=minbase --format=directory
for pattern in $excluded; do set -- "$@" "--dpkgopt=path-exclude=/usr/share/$pattern"; done
set -- "$@" '--dpkgopt=path-include=/usr/share/doc/*/copyright' '--dpkgopt=path-include=/usr/share/locale/locale.alias'
status=0
{
  printf '%s\n' "$sources" | mmdebstrap "$@" --dpkgopt=force-unsafe-io \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Retries "3"' \
    --include="$(grep '^[a-z]' "$here/packages.txt" | tr '\n' ',' | sed 's/,$//')" \
    $suite "$draft/root" - 2>&1
  echo "status $?"
} | tee "$draft/log" | while read -r line; do
  case $line in
  *'downloading packages'*) progress 'downloading packages' ;;
  *'extracting archives'*) progress 'unpacking' ;;
  *'installing remaining'*) progress 'installing' ;;
  esac
done
status=$(sed -n 's/^status //p' "$draft/log")
if [ "$status" != 0 ]; then
  grep -E '^(E|W|Err|dpkg|sh):?' "$draft/log" | tail -n 8 >&2
  tail -n 3 "$draft/log" >&2
  fail "mmdebstrap failed with $mirror"
fi
progress 'adding Node and npm'
wait "$fetching" || { cat "$draft/fetch.log" >&2; fetching=; fail 'Node and npm did not come from the npm registry'; }
fetching=
sh "$here/customize.sh" "$draft" "$sandbox_mirror" "$suite"
content=$( (cat "$draft/packages.txt"; echo "$sandbox_mirror") | sha256sum | cut -c 1-12)
name=$suite-$recipe-$content
bytes=$(du -s -B1 "$draft/root" | cut -f 1)
printf '{ "name": "%s", "suite": "%s", "recipe": "%s", "mirror": "%s", "sizeBytes": %s, "buildSeconds": %s }\n' \
  "$name" $suite "$recipe" "$sandbox_mirror" "$bytes" "$(($(date +%s) - began))" >"$draft/base.json"
rm -rf "$draft/log" "$draft/fetch.log" "$draft/node-24" "$draft/npm"
# The same packages make the same base: what stands on the one that is there goes on.
[ -e "$directory/$name/base.json" ] || { rm -rf "${directory:?}/$name"; mv "$draft" "$directory/$name"; }
ln -sfn "$name" "$directory/$recipe"
ln -sfn "$name" "$directory/current"
progress "done: $((bytes / 1000000)) MB in $directory/$name"
echo "$name"

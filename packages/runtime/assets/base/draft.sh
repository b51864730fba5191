#!/bin/sh
# Makes the root file system of the template `base` in a directory. Only build.sh runs it, as the first process of namespaces of
# its own: when it ends, by whatever, so do the programs that it started and what they mounted.
# usage: draft.sh DRAFT MIRROR SECURITY SANDBOX_MIRROR SUITE     SECURITY may be empty
#   DRAFT/root is the tree, DRAFT/packages.txt says what is installed
set -eu
draft=$1 mirror=$2 security=$3 sandbox_mirror=$4 suite=$5
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# /proc is still the host's: this is the id by which build.sh can end this process.
read -r pid _ </proc/self/stat
echo "$pid" >"$draft/pid"

fail() { echo "base: $*" >&2; exit 3; }
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
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
sources="deb [signed-by=$keyring] $mirror $suite main
deb [signed-by=$keyring] $mirror $suite-updates main"
[ -z "$security" ] || sources="$sources
deb [signed-by=$keyring] $security $suite-security main"
# What a sandbox has no use for: as in Debian's slim images.
excluded='man/* info/* locale/* doc/* doc-base/* lintian/* linda/* bug/* groff/*'
set -- --mode=root --variant=minbase --format=directory
for pattern in $excluded; do set -- "$@" "--dpkgopt=path-exclude=/usr/share/$pattern"; done
set -- "$@" '--dpkgopt=path-include=/usr/share/doc/*/copyright' '--dpkgopt=path-include=/usr/share/locale/locale.alias'
{
  printf '%s\n' "$sources" | mmdebstrap "$@" --dpkgopt=force-unsafe-io \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Retries "3"' \
    --include="$(grep '^[a-z]' "$here/packages.txt" | tr '\n' ',' | sed 's/,$//')" \
    "$suite" "$draft/root" - 2>&1
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
wait "$fetching" || { cat "$draft/fetch.log" >&2; fail 'Node and npm did not come from the npm registry'; }
sh "$here/customize.sh" "$draft" "$sandbox_mirror" "$suite"
rm -rf "$draft/log" "$draft/fetch.log" "$draft/node-24" "$draft/npm" "$draft/pid"

#!/bin/sh
# Puts a private CRIU (>= 4.2) into one directory. Host packages, apt lists and /usr stay as they are.
# usage: install-criu.sh DIRECTORY     (needs apt-get, dpkg-deb and a Debian mirror in the host's apt sources)
# Environment: SVC_DEBIAN_MIRROR overrides the mirror, SVC_CRIU_SUITE the suite (default sid);
# SVC_CRIU_PINNED=1 takes the version of downloads.txt or none.
#
# What comes is checked twice: apt takes nothing that Debian's archive keys did not sign, and the package of the pinned
# version must have the pinned checksum. A mirror of sid keeps one version, so a newer one that is signed is taken too,
# and said, unless SVC_CRIU_PINNED forbids it. PACKAGES in the directory lists what was taken, with checksums.
set -eu
directory=${1:?directory}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
suite=${SVC_CRIU_SUITE:-sid}
wanted=4.2

version_of() { # prints the version of the criu in $1, or nothing
  [ -x "$1/criu" ] || return 0
  "$1/criu" --version 2>/dev/null | sed -n 's/^Version: *\([0-9][0-9.]*\).*/\1/p'
}
new_enough() { # $1 >= wanted
  [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$wanted" "$1" | sort -V | head -n 1)" = "$wanted" ]
}

present=$(version_of "$directory")
if new_enough "$present"; then
  echo "criu $present is already in $directory"
  exit 0
fi
for tool in apt-get dpkg dpkg-deb sha256sum; do
  command -v "$tool" >/dev/null || { echo "install-criu: $tool is needed (a Debian host)" >&2; exit 3; }
done

# shellcheck source-path=SCRIPTDIR source=debian-mirror.sh
. "$here/debian-mirror.sh"
mirror=$(debian_mirror debian)
[ -n "$mirror" ] || { echo 'install-criu: no Debian mirror in the apt sources; set SVC_DEBIAN_MIRROR' >&2; exit 3; }
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || { echo "install-criu: $keyring is missing (apt-get install debian-archive-keyring)" >&2; exit 3; }

architecture=$(dpkg --print-architecture)
pinned=$(awk -v a="$architecture" '$1 == "criu" && $3 == a { print $2 }' "$here/downloads.txt")
pinned_sum=$(awk -v a="$architecture" '$1 == "criu" && $3 == a { sub("sha256:", "", $4); print $4 }' "$here/downloads.txt")

mkdir -p "$directory"
exec 9>"$directory/.lock"
command -v flock >/dev/null && flock 9
present=$(version_of "$directory")
if new_enough "$present"; then echo "criu $present is already in $directory"; exit 0; fi

work=$(mktemp -d "$directory/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root" "$work/out/lib" "$work/parts"
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
download() { private_apt install --download-only --no-install-recommends -y "$1" >/dev/null; }
advice="For exactly that version set SVC_DEBIAN_MIRROR=https://snapshot.debian.org/archive/debian/DATE/ with a DATE (YYYYMMDDThhmmssZ) on which $suite had it."
if [ -n "$pinned" ] && download "criu=$pinned" 2>"$work/pinned.log"; then
  found=$(sha256sum "$work"/cache/archives/criu_*.deb | cut -d ' ' -f 1)
  if [ "$found" != "$pinned_sum" ]; then
    echo "install-criu: the package criu $pinned has the checksum $found, not $pinned_sum: nothing was installed. Do not use this mirror." >&2
    exit 1
  fi
elif [ -n "${SVC_CRIU_PINNED:-}" ]; then
  cat "$work/pinned.log" >&2 2>/dev/null || true
  echo "install-criu: the mirror has no criu ${pinned:-for $architecture} and SVC_CRIU_PINNED forbids another one: nothing was installed. $advice" >&2
  exit 1
else
  download criu
  echo "install-criu: $suite has moved on from criu ${pinned:-of any pinned version}, the version that was tested. What it has now is signed by Debian and is taken. $advice" >&2
fi
for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$work/root"; done

binary=$work/root/usr/sbin/criu
[ -x "$binary" ] || binary=$work/root/usr/bin/criu
loader=$(find "$work/root" -name 'ld-linux-*.so.*' | head -n 1)
if [ ! -x "$binary" ] || [ -z "$loader" ]; then
  echo 'install-criu: the packages hold no criu' >&2
  exit 1
fi
paths=$(find "$work/root" -name '*.so.*' -exec dirname {} + | sort -u | tr '\n' ':')
cp "$binary" "$work/out/criu.bin"
cp -L "$loader" "$work/out/lib/"
"$loader" --library-path "$paths" --list "$binary" | awk '$2 == "=>" { print $3 }' | while read -r library; do
  cp -L "$library" "$work/out/lib/"
done
name=$(basename "$loader")
cat >"$work/out/criu" <<WRAPPER
#!/bin/sh
exec "$directory/lib/$name" --library-path "$directory/lib" "$directory/criu.bin" "\$@"
WRAPPER
chmod 755 "$work/out/criu"
for package in "$work"/cache/archives/*.deb; do
  printf '%s %s\n' "$(basename "$package" .deb)" "$(sha256sum "$package" | cut -d ' ' -f 1)"
done >"$work/out/PACKAGES"
(cd "$work/out" && find criu.bin lib -type f -exec sha256sum {} + | sort -k 2 >SHA256SUMS)

rm -rf "${directory:?}/lib" "$directory/criu.bin" "$directory/criu"
mv "$work/out/lib" "$work/out/criu.bin" "$work/out/SHA256SUMS" "$work/out/PACKAGES" "$directory/"
mv "$work/out/criu" "$directory/criu"
present=$(version_of "$directory")
new_enough "$present" || { echo "install-criu: got criu ${present:-none}, need >= $wanted" >&2; exit 1; }
echo "criu $present installed in $directory"

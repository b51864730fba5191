#!/bin/sh
# Puts a private CRIU (>= 4.2) into one directory. Host packages, apt lists and /usr stay as they are.
# usage: install-criu.sh DIRECTORY     (needs apt-get, dpkg-deb and a Debian mirror in the host's apt sources)
# Environment: SVC_DEBIAN_MIRROR overrides the mirror, SVC_CRIU_SUITE the suite (default sid);
# SVC_CRIU_PINNED=1 takes the version of downloads.txt or none.
#
# Every package is checked twice: apt takes nothing that Debian's archive keys did not sign, and the package of the pinned
# version must have the pinned checksum. A mirror of sid keeps one version, so a newer one that is signed is taken too,
# and reported, unless SVC_CRIU_PINNED forbids it. PACKAGES in the directory lists the packages with their checksums.
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
program=install-criu
# shellcheck source-path=SCRIPTDIR source=private-apt.sh
. "$here/private-apt.sh"
require_programs apt-get dpkg dpkg-deb sha256sum
require_mirror
find_pin criu

lock_directory "$directory"
present=$(version_of "$directory")
if new_enough "$present"; then echo "criu $present is already in $directory"; exit 0; fi

open_apt "$directory" "$suite"
mkdir -p "$work/out/lib"
if [ -n "$pinned" ] && download "criu=$pinned" 2>"$work/pinned.log"; then
  require_pinned_sum criu
elif [ -n "${SVC_CRIU_PINNED:-}" ]; then
  cat "$work/pinned.log" >&2 2>/dev/null || true
  echo "install-criu: the mirror has no criu ${pinned:-for $architecture} and SVC_CRIU_PINNED forbids another one: nothing was installed. $(snapshot_advice "$suite")" >&2
  exit 1
else
  download criu
  echo "install-criu: $suite has moved on from criu ${pinned:-of any pinned version}, the version that was tested. What it has now is signed by Debian and is taken. $(snapshot_advice "$suite")" >&2
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

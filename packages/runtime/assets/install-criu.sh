#!/bin/sh
# Puts a private CRIU (>= 4.2) into one directory. Host packages, apt lists and /usr stay as they are.
# usage: install-criu.sh DIRECTORY     (needs apt-get, dpkg-deb and a Debian mirror in the host's apt sources)
# Environment: SVC_DEBIAN_MIRROR overrides the mirror, SVC_CRIU_SUITE the suite (default sid).
set -eu
directory=${1:?directory}
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
for tool in apt-get dpkg-deb sha256sum; do
  command -v "$tool" >/dev/null || { echo "install-criu: $tool is needed (a Debian host)" >&2; exit 3; }
done

# The mirror: the first Debian archive among the host's own sources, either style of file.
mirror=${SVC_DEBIAN_MIRROR:-}
if [ -z "$mirror" ]; then
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n -e 's/^[[:space:]]*URIs:[[:space:]]*//p' -e 's/^[[:space:]]*deb[[:space:]]\{1,\}\(\[[^]]*\][[:space:]]*\)\{0,1\}//p' |
    awk '{ print $1 }' | grep -E '/debian/?$' | head -n 1 || true)
fi
[ -n "$mirror" ] || { echo 'install-criu: no Debian mirror in the apt sources; set SVC_DEBIAN_MIRROR' >&2; exit 3; }
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || { echo "install-criu: $keyring is missing (apt-get install debian-archive-keyring)" >&2; exit 3; }

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
  apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/parts" \
    -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Debug::NoLocking=1 -o Acquire::Retries=3 "$@" </dev/null
}
private_apt update
private_apt install --download-only --no-install-recommends -y criu >/dev/null
for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$work/root"; done

binary=$work/root/usr/sbin/criu
[ -x "$binary" ] || binary=$work/root/usr/bin/criu
loader=$(find "$work/root" -name 'ld-linux-*.so.*' | head -n 1)
[ -x "$binary" ] && [ -n "$loader" ] || { echo 'install-criu: the packages hold no criu' >&2; exit 1; }
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
(cd "$work/out" && find criu.bin lib -type f -exec sha256sum {} + | sort -k 2 >SHA256SUMS)

rm -rf "$directory/lib" "$directory/criu.bin" "$directory/criu"
mv "$work/out/lib" "$work/out/criu.bin" "$work/out/SHA256SUMS" "$directory/"
mv "$work/out/criu" "$directory/criu"
present=$(version_of "$directory")
new_enough "$present" || { echo "install-criu: got criu ${present:-none}, need >= $wanted" >&2; exit 1; }
echo "criu $present installed in $directory"

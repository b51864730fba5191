#!/bin/sh
# Makes a sandbox's root of a fresh Debian: a user, Node, settings; and takes out what differs from build to build.
# usage: customize.sh DRAFT MIRROR SUITE     DRAFT/root is the tree; DRAFT/node-24 and DRAFT/npm are packages of the npm registry
set -eu
draft=$1 mirror=$2 suite=$3
root=$draft/root
cd "$root"

# /usr/local belongs to the user, who may become root anyway: `npm install -g` and `pip install` work without sudo.
mkdir -p usr/local/lib/node_modules
cp "$draft/node-24/package/bin/node" usr/local/bin/node
chmod 755 usr/local/bin/node
cp -r "$draft/npm/package" usr/local/lib/node_modules/npm
rm -rf usr/local/lib/node_modules/npm/docs usr/local/lib/node_modules/npm/man
ln -s ../lib/node_modules/npm/bin/npm-cli.js usr/local/bin/npm
ln -s ../lib/node_modules/npm/bin/npx-cli.js usr/local/bin/npx
chmod 755 usr/local/lib/node_modules/npm/bin/*.js
printf '%s\n' 'update-notifier=false' 'fund=false' >usr/local/lib/node_modules/npm/npmrc

chroot . groupadd --gid 1000 user
chroot . useradd --uid 1000 --gid 1000 --create-home --shell /bin/bash --groups sudo user
printf 'user ALL=(ALL:ALL) NOPASSWD: ALL\n' >etc/sudoers.d/user
chmod 440 etc/sudoers.d/user
chown -R 1000:1000 usr/local
rm -rf home/user/.bash_logout

printf '[global]\nbreak-system-packages = true\nroot-user-action = ignore\ndisable-pip-version-check = true\n' >etc/pip.conf
printf 'LANG=C.UTF-8\n' >etc/default/locale
printf 'LANG=C.UTF-8\n' >etc/environment
# shellcheck disable=SC2016 # The login shell expands it.
printf '[ -n "${LANG:-}" ] || export LANG=C.UTF-8\n' >etc/profile.d/locale.sh
# Every command runs in a login shell, and starting `id` and `run-parts` in its profile takes more time than the shell: bash
# knows the user, and a pattern the files.
# shellcheck disable=SC2016 # The login shell expands it.
sed -i -e 's|"$(id -u)"|"${EUID:-$(id -u)}"|' \
  -e 's|\$(run-parts --list --regex .* /etc/profile\.d)|/etc/profile.d/[a-zA-Z0-9_]*.sh|' etc/profile
if grep -v 'EUID:-' etc/profile | grep '[$]('; then
  echo 'base: /etc/profile of this Debian starts programs in another way' >&2
  exit 1
fi
# Nobody answers questions of packages.
printf 'DPkg::Options { "--force-confdef"; "--force-confold"; };\nAPT::Install-Recommends "false";\n' >etc/apt/apt.conf.d/90sandbox
printf 'debconf debconf/frontend select Noninteractive\n' | chroot . debconf-set-selections
# No service starts in a sandbox by being installed.
printf '#!/bin/sh\nexit 101\n' >usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
# Unpacking needs no care for a power cut: a sandbox's file system is stored as a whole.
printf 'force-unsafe-io\n' >etc/dpkg/dpkg.cfg.d/sandbox

rm -f etc/apt/sources.list etc/apt/sources.list.d/* etc/apt/apt.conf.d/99mmdebstrap
case $mirror in
*/debian) security=$mirror-security ;;
*) security=http://deb.debian.org/debian-security ;;
esac
cat >etc/apt/sources.list.d/debian.sources <<SOURCES
Types: deb
URIs: $mirror
Suites: $suite $suite-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: $security
Suites: $suite-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES

# What was installed, exactly: the content of the base.
# shellcheck disable=SC2016 # dpkg-query expands it.
chroot . dpkg-query -W -f '${Package}:${Architecture} ${Version}\n' | sort >"$draft/packages.txt"
printf 'node %s\nnpm %s\n' "$(chroot . node --version)" "$(chroot . npm --version)" >>"$draft/packages.txt"

# The host's own, and what no two builds have alike.
rm -rf etc/hostname etc/hosts etc/resolv.conf etc/machine-id var/lib/dbus/machine-id
rm -rf var/cache/apt/* var/cache/debconf/*-old var/cache/ldconfig/* var/lib/apt/lists/* var/log/* var/tmp/* tmp/* run/* dev/* root/.npm root/.cache
rm -f var/lib/dpkg/*-old var/lib/dpkg/lock* etc/passwd- etc/group- etc/shadow- etc/gshadow- etc/subuid- etc/subgid-
mkdir -p var/lib/apt/lists/partial var/cache/apt/archives/partial var/log/apt .sbx run/lock
: >etc/machine-id
# As if it had been built on one day.
find . -newermt '2026-01-01 UTC' -print0 | xargs -0 touch -h -d '2026-01-01 UTC'

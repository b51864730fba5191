#!/bin/sh
# Gets what isolated sandboxes need onto a Debian host: packages, a private CRIU for memory snapshots, and the root file
# system of the template base.
# Says what it is about to install, installs only what is missing, and may be run again at any time. Needs root.
#
# usage: scripts/prepare-host.sh [--linux] [--criu] [--gvisor] [--build] [--examples] [--tests] [--browser] [--stock] [--all] [--check]
#   --linux   packages of the linux driver (default, with --criu)
#   --base    root file system of the template base in $SVC_BASE_DIR (default /var/lib/svc/base), built in about a minute
#   --criu    private CRIU in $SVC_CRIU_DIR (default /var/lib/svc/criu); host packages stay as they are
#   --gvisor  private gVisor in $SVC_RUNSC_DIR (default /var/lib/svc/runsc), for sandboxes with a kernel of their own
#   --examples what the examples run in their sandboxes (python3)
#   --build   what a clone needs to build the product (Go)
#   --tests   what only the test suites use
#   --browser Chromium, for the tests of the dashboard and of the SDK in a page
#   --stock   QEMU, to boot stock Debian hosts in the nightly tests
#   --all     everything above
#   --check   only say what is missing; exit code 1 when something is
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
criu_directory=${SVC_CRIU_DIR:-/var/lib/svc/criu}
runsc_directory=${SVC_RUNSC_DIR:-/var/lib/svc/runsc}
base_directory=${SVC_BASE_DIR:-/var/lib/svc/base}
linux='' criu='' gvisor='' base='' build='' examples='' tests='' browser='' stock='' check=''
[ $# -gt 0 ] || { linux=1 criu=1; }
for flag in "$@"; do
  case $flag in
    --linux) linux=1 ;;
    --criu) criu=1 ;;
    --gvisor) gvisor=1 ;;
    --base) base=1 ;;
    --build) build=1 ;;
    --examples) examples=1 ;;
    --tests) tests=1 ;;
    --browser) browser=1 ;;
    --stock) stock=1 ;;
    --all) linux=1 criu=1 gvisor=1 base=1 build=1 examples=1 tests=1 browser=1 stock=1 ;;
    --check) check=1 ;;
    *) echo "prepare-host: unknown option $flag" >&2; exit 2 ;;
  esac
done
[ -n "$linux$criu$gvisor$base$build$examples$tests$browser$stock" ] || { linux=1 criu=1; }
PATH=/usr/local/sbin:/usr/sbin:/sbin:$PATH:/usr/local/go/bin

packages=
need() { # need PACKAGE COMMAND-OR-PATH: names the package when the thing is missing
  case $2 in
    /*) [ -e "$2" ] && return 0 ;;
    *) command -v "$2" >/dev/null 2>&1 && return 0 ;;
  esac
  case " $packages " in *" $1 "*) ;; *) packages="$packages $1" ;; esac
}
if [ -n "$linux" ]; then
  need runc runc
  need crun crun
  need nftables nft
  need iproute2 ip
  need btrfs-progs mkfs.btrfs
  need util-linux nsenter
  need mount mount
  need tar tar
  need ca-certificates /etc/ssl/certs/ca-certificates.crt
  need skopeo skopeo
  need zstd zstd
  need mmdebstrap mmdebstrap
fi
if [ -n "$base" ]; then
  need mmdebstrap mmdebstrap
  need debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
fi
if [ -n "$criu$gvisor" ]; then
  need debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
fi
if [ -n "$build" ]; then
  need golang-go go
fi
if [ -n "$examples" ]; then
  need python3 /usr/bin/python3
fi
if [ -n "$tests" ]; then
  need curl curl
  need shellcheck shellcheck
  need git git
  need openssh-client ssh
  need rsync rsync
  need jq jq
  if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then packages="$packages postgresql"; fi
  need docker-registry docker-registry
fi
if [ -n "$browser" ]; then
  need chromium chromium
fi
if [ -n "$stock" ]; then
  need qemu-system-x86 qemu-system-x86_64
  need mmdebstrap mmdebstrap
  need e2fsprogs mke2fs
fi

# The version that counts is that of the private copy.
criu_missing=
if [ -n "$criu" ]; then
  version=$("$criu_directory/criu" --version 2>/dev/null | sed -n 's/^Version: *//p' || true)
  if [ -z "$version" ] || [ "$(printf '4.2\n%s\n' "$version" | sort -V | head -n 1)" != 4.2 ]; then criu_missing=1; fi
fi

runsc_missing=
if [ -n "$gvisor" ] && [ ! -x "$runsc_directory/runsc" ]; then runsc_missing=1; fi

base_missing=
build_base() { sh "$here/../packages/runtime/assets/base/build.sh" "$base_directory" "$@"; }
if [ -n "$base" ] && [ ! -e "$base_directory/$(build_base --recipe)/base.json" ]; then base_missing=1; fi

if [ -z "$packages$criu_missing$runsc_missing$base_missing" ]; then
  echo 'prepare-host: everything is here already'
  exit 0
fi
[ -z "$packages" ] || echo "prepare-host: Debian packages to install:$packages"
[ -z "$criu_missing" ] || echo "prepare-host: private CRIU (>= 4.2) to install into $criu_directory"
[ -z "$runsc_missing" ] || echo "prepare-host: private gVisor to install into $runsc_directory"
[ -z "$base_missing" ] || echo "prepare-host: root file system of the template base to build in $base_directory (about a minute)"
[ -z "$check" ] || exit 1
[ "$(id -u)" = 0 ] || { echo 'prepare-host: must run as root' >&2; exit 3; }
# Two checkouts may be prepared at the same time: the second looks again at what is missing when the first is done.
if [ -z "${SVC_PREPARE_HOST_LOCKED:-}" ] && command -v flock >/dev/null 2>&1; then
  SVC_PREPARE_HOST_LOCKED=1 exec flock /run/lock/svc-prepare-host "$0" "$@"
fi

if [ -n "$packages" ]; then
  command -v apt-get >/dev/null || { echo 'prepare-host: not a Debian host (no apt-get); install the packages by hand' >&2; exit 3; }
  # A missing repository of somebody else must not keep ours from being found.
  apt-get -o DPkg::Lock::Timeout=600 update -qq || echo 'prepare-host: some package lists could not be refreshed' >&2
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 install -y -qq --no-install-recommends $packages >/dev/null
fi
[ -z "$criu_missing" ] || sh "$here/../packages/runtime/assets/install-criu.sh" "$criu_directory"
# Without it sandboxes are containers.
[ -z "$runsc_missing" ] || sh "$here/../packages/runtime/assets/install-runsc.sh" "$runsc_directory" ||
  echo 'prepare-host: gVisor could not be installed: see above' >&2
# Without it everything else works: the template host is there, and images.
[ -z "$base_missing" ] || build_base >/dev/null || echo 'prepare-host: the template base could not be built: see above' >&2
echo 'prepare-host: done'

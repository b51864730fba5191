#!/usr/bin/env bash
# Boots stock Debian with systemd and its own kernel under QEMU, without KVM, and has this checkout run sandboxes there. For the
# night: a suite takes a quarter of an hour. Prints a line for each step and, for each suite, "N passed, N failed".
#
# usage, as root, in a checkout that is built: scripts/stock-host/run.sh [SUITE ...]     (default: bookworm trixie)
# Needs qemu-system-x86, mmdebstrap, e2fsprogs, and what scripts/prepare-host.sh --base --criu gets.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "$here/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../../packages/runtime/assets/debian-mirror.sh
. "$checkout/packages/runtime/assets/debian-mirror.sh"
state=${SVC_STATE_DIR:-/var/lib/svc}
TIME_LIMIT_S=3600
packages=systemd-sysv,udev,dbus,linux-image-cloud-amd64,iproute2,procps,nftables,runc,crun,btrfs-progs,kmod,util-linux
packages=$packages,python3-minimal,perl,ca-certificates,libstdc++6,libatomic1

for program in qemu-system-x86_64 mmdebstrap mke2fs; do
  command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 2; }
done
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stock-host.XXXXXX")
trap 'rm -rf "$work"' EXIT

make_disk() { # SUITE DIRECTORY: disk.img, vmlinuz and initrd
  local root=$2/root
  mmdebstrap --quiet --variant=minbase --include="$packages" "$1" "$root" "$(debian_mirror debian)" 2>"$2/mmdebstrap.log" ||
    { cat "$2/mmdebstrap.log" >&2; return 1; }
  mkdir -p "$root/opt/svc" "$root/var/lib/svc"
  tar -C "$checkout" --exclude=./.git --exclude=.cache --exclude=.turbo -cf - . | tar -C "$root/opt/svc" -xf -
  cp -a "$state/criu" "$root/var/lib/svc/"
  mkdir -p "$root/var/lib/svc/base"
  tar -C "$state/base" --exclude='./*/users/*' -cf - . | tar -C "$root/var/lib/svc/base" -xf -
  cp "$(readlink -f "$(command -v node)")" "$root/usr/local/bin/node"
  # Where the packages are found.
  cp "$here/steps.mjs" "$root/opt/svc/examples/stock-host.mjs"
  cp "$here/stock-host.service" "$root/etc/systemd/system/"
  systemctl --root="$root" enable stock-host.service 2>/dev/null ||
    ln -s ../stock-host.service "$root/etc/systemd/system/multi-user.target.wants/"
  echo stock >"$root/etc/hostname"
  printf '127.0.0.1 localhost stock\n' >"$root/etc/hosts"
  cp "$root"/boot/vmlinuz-* "$2/vmlinuz"
  cp "$root"/boot/initrd.img-* "$2/initrd"
  mke2fs -q -t ext4 -d "$root" "$2/disk.img" 16G
  rm -rf "$root"
}

failed=0
[ $# -gt 0 ] || set -- bookworm trixie
for each in "$@"; do
  echo "== $each"
  mkdir "$work/$each"
  make_disk "$each" "$work/$each"
  timeout -s KILL "$TIME_LIMIT_S" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max -smp 2 -m 4096 \
    -display none -monitor none -no-reboot -kernel "$work/$each/vmlinuz" -initrd "$work/$each/initrd" \
    -append 'root=/dev/vda rw console=ttyS0 quiet systemd.show_status=0' \
    -serial "file:$work/$each/console" -serial "file:$work/$each/steps" \
    -drive "file=$work/$each/disk.img,if=virtio,format=raw,cache=unsafe" \
    -netdev user,id=net,restrict=on -device virtio-net,netdev=net || true
  tr -d '\r' <"$work/$each/steps"
  if ! grep -q '^[1-9][0-9]* passed, 0 failed' "$work/$each/steps"; then
    grep -q ' passed, ' "$work/$each/steps" || { tail -n 20 "$work/$each/console"; echo '0 passed, 1 failed'; }
    failed=1
  fi
  rm -rf "${work:?}/$each"
done
exit "$failed"

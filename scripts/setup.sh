#!/usr/bin/env bash
# Gets a fresh clone ready: checks Node, installs the packages, prepares the host where it may, builds.
# Called by quickstart.sh and test.sh; repeating it is cheap.
#
#   scripts/setup.sh [--for quickstart|gate|nightly|release] [--no-host]
set -euo pipefail
# Nothing of this repository reports about its users.
export TURBO_TELEMETRY_DISABLED=1
cd "$(dirname "${BASH_SOURCE[0]}")/.."

purpose=quickstart
host=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --for) purpose=$2; shift 2 ;;
    --no-host) host=no; shift ;;
    *) echo "setup.sh: unknown option $1" >&2; exit 2 ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "Node.js 20.19 or newer with npm is needed (https://nodejs.org). Nothing was changed." >&2
  exit 1
fi
if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; then
  echo "Node.js 20.19 or newer is needed; this is $(node --version). Nothing was changed." >&2
  exit 1
fi

# The host first: what it builds in the background then goes on beside `npm ci` and the compile.
base=
base_log=
if [ "$host" = yes ]; then
  say "Preparing the host"
  case "$purpose" in
    gate) needs=(--linux --criu --build --tests) ;;
    nightly | release) needs=(--linux --criu --build --gvisor --examples --tests --browser --stock) ;;
    *) needs=(--linux --criu --build --examples) ;;
  esac
  # Without it, what can run runs: the server (and each test) says what is missing and what that costs.
  scripts/prepare-host.sh "${needs[@]}" ||
    echo "The host could not be prepared fully: see above. What needs it is skipped, with the reason."
  # The gate's sandboxes stand on the host's own programs.
  if [ "$purpose" != gate ] && ! scripts/prepare-host.sh --base --check >/dev/null && [ "$(id -u)" = 0 ]; then
    base_log=$(mktemp "${TMPDIR:-/tmp}/svc-base.XXXXXX.log")
    echo "The root file system of the template base is being built meanwhile (about a minute; log: $base_log)."
    # Of a process group of its own: it goes on when this script has ended.
    setsid scripts/prepare-host.sh --base >"$base_log" 2>&1 </dev/null &
    base=$!
  fi
fi

# A stamp of the lock file spares the minute that `npm ci` takes when nothing changed.
stamp=node_modules/.setup-stamp
wanted=$(cksum < package-lock.json)
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
  say "Installing the packages (npm ci)"
  npm ci --no-fund --no-audit --loglevel=error
  printf '%s' "$wanted" > "$stamp"
fi

say "Building"
node_modules/.bin/turbo run build --output-logs=errors-only --concurrency=2

# The tests of the template base wait for it. The quickstart does not: see quickstart.sh.
if [ -n "$base" ] && [ "$purpose" != quickstart ]; then
  say "Waiting for the root file system of the template base"
  wait "$base" || cat "$base_log"
  rm -f "$base_log"
fi

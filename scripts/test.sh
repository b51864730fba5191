#!/usr/bin/env bash
# Runs checks and tests, and ends with one line: N passed, N failed, N skipped.
# Tests that need root or a kernel feature run for real where they can and say why where they cannot.
#
#   scripts/test.sh [--nightly | --release | --help]
set -uo pipefail
# Nothing of this repository reports about its users.
export TURBO_TELEMETRY_DISABLED=1
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [TIER]

  TIER       Runs                                                                                       On 2 cores
  (none)     the gate: checks, and each behaviour once, on the driver or database that decides it       12 minutes
  --nightly  everything on every driver, database and version of Node; examples, blocks of pages, the
             site, browser, packages; stock Debian hosts; crashes, leaks and garbage for long           3 hours
  --release  the nightly tier, then every run below                                                     hours

  One file:          cd packages/NAME && npx vitest run test/FILE
  Variable           Does
  SVC_NODE=24        runs a tier on another version of Node
  SVC_TEST_POSTGRES_URL=$(scripts/postgres.sh start)
                     runs single files on PostgreSQL too; scripts/postgres.sh stop ends it
  SVC_SEED=N         repeats a run of crashes or garbage
  SVC_LEAK_CYCLES, SVC_CRASH_ROUNDS, SVC_FUZZ_SECONDS
                     run for longer; the nightly tier takes 1000, 50 and 600

Runs of the release tier (scripts/release-runs.txt):
TEXT
  awk -F ' *[|] *' '
    /^# / { reason = substr($0, 3); next }
    /^$/ { reason = ""; next }
    { if (reason != "") printf "\n  %s\n", reason; printf "    cd %s && %s npx vitest run %s\n", $1, $2, $3; reason = "" }
  ' scripts/release-runs.txt
}

case ${1:-} in
  '') export SVC_TIER=gate ;;
  --nightly | --release) export SVC_TIER=${1#--} ;;
  --help) usage && exit ;;
  *) usage >&2 && exit 2 ;;
esac
began=$SECONDS

# Hosts that systemd booted have flags on /dev, /run and /tmp that decide what can be restored.
if [ -z "${SVC_STOCK_MOUNTS:-}" ]; then SVC_STOCK_MOUNTS=1 exec scripts/stock-mounts.sh "$0" "$@"; fi

scripts/setup.sh --for "$SVC_TIER" || exit 1

if [ -n "${SVC_NODE:-}" ]; then
  node_directory=$(node scripts/node-runtime.mjs "$SVC_NODE") || exit 1
  export PATH=$node_directory:$PATH
  echo "Tests run on Node $(node --version)."
fi

# As Debian's procps sets them at boot. A machine that never booted has none, and hides what they refuse.
if [ "$(id -u)" = 0 ]; then
  sysctl -q -w fs.protected_regular=2 fs.protected_fifos=1 fs.protected_symlinks=1 fs.protected_hardlinks=1 ||
    echo 'The fs.protected_* settings of Debian could not be set.'
fi

export SVC_TEST_BUILT=1 # setup.sh has just built: programs that tests start need not be read from their sources
state=$(mktemp -d "${TMPDIR:-/tmp}/svc-test.XXXXXX")
chmod 711 "$state" # PostgreSQL runs as its own user
touch "$state/failed-checks" "$state/failed-tests" "$state/jobs"
trap 'scripts/postgres.sh stop; rm -rf "$state"' EXIT

# Notes when a job ran, for the report of what ran beside what.
ran() { # ran NAME BEGIN
  printf '%s\t%s\t%s\n' "$1" "$(($2 - began))" "$((SECONDS - began))" >>"$state/jobs"
}

# Runs one step and prints its output in one piece, so that steps may run side by side.
check() { # check NAME COMMAND...
  local name=$1 started=$SECONDS output
  shift
  output=$(mktemp "$state/output.XXXXXX")
  "$@" >"$output" 2>&1 || { echo "$name" >>"$state/failed-checks"; printf '!! failed: %s\n' "$*" >>"$output"; }
  printf '\n== %s (%s s)\n%s\n' "$name" "$((SECONDS - started))" "$(cat "$output")"
  ran "$name" "$started"
}

# Runs the tests of one package.
tests() { # tests FOLDER
  local started=$SECONDS
  (cd "$1" && exec npm test --silent) 2>&1 | sed -u "s|^|${1#packages/}: |"
  [ "${PIPESTATUS[0]}" = 0 ] || echo "$1" >>"$state/failed-tests"
  printf '\n== Tests of %s (%s s)\n' "$1" "$((SECONDS - started))"
  ran "$1" "$started"
}

# Begins one job of the run beside those that run; once there are two, when one of them has ended. A third makes the long ones longer,
# and the whole no shorter.
job() { # job FUNCTION ARGUMENT...
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
  "$@" &
}

# PostgreSQL for the tests of the second storage dialect; without it those tests say that they are skipped.
# It has a directory of this run's own: another checkout may run its tests at the same time.
export SVC_TEST_POSTGRES_DIR=$state/postgres
if postgres_url=$(scripts/postgres.sh start); then
  export SVC_TEST_POSTGRES_URL=$postgres_url
else
  echo "PostgreSQL could not be started: its tests are skipped."
fi

find packages examples -maxdepth 2 -name 'test-results*.json' -delete
export SVC_CONFORMANCE_RECORD=$state/coverage
mkdir "$SVC_CONFORMANCE_RECORD"
if [ "$SVC_TIER" != gate ]; then
  export SVC_CRASH_ROUNDS=50 SVC_LEAK_CYCLES=1000 SVC_FUZZ_SECONDS=600
fi

conformance() {
  tests packages/conformance
  check "Table of coverage" npm run coverage -w packages/conformance
}

# What differs between the versions of Node that are supported, on one that this run is not on.
other_node() { # other_node VERSION
  local started=$SECONDS
  scripts/test-on-node.sh "$1" || echo "Node $1" >>"$state/failed-tests"
  ran "Node $1" "$started"
}

# In this order, two at a time. Long jobs come before short ones, so that both end about together; runtime, whose sandboxes mostly
# wait, and what needs the processors are side by side.
job check "Format and lint" node_modules/.bin/biome check --error-on-warnings .
job check "Imports, specifications, generated code, shell scripts, links, tiers" node scripts/check-all.mjs
job check "Types" npm run typecheck --silent
[ "$SVC_TIER" = gate ] || job check "API reference and documentation site" node scripts/site.mjs
folders=$(node --disable-warning=ExperimentalWarning scripts/test-tiers.mjs --folders "$SVC_TIER")
first=(packages/{runtime,server,conformance,cli,sdk})
for folder in "${first[@]}"; do
  if [ "$folder" = packages/conformance ]; then job conformance; else job tests "$folder"; fi
done
if [ "$SVC_TIER" != gate ]; then
  job check "Stock Debian hosts" scripts/stock-host/run.sh
  for version in 22 24; do
    case $(node --version) in "v$version".*) continue ;; esac
    job other_node "$version"
  done
fi
for folder in $folders; do
  [[ " ${first[*]} " == *" $folder "* ]] || job tests "$folder"
done
wait

if [ "$SVC_TIER" = release ]; then
  number=0
  while IFS='|' read -r folder switches files; do
    case $folder in '' | '#'*) continue ;; esac
    number=$((number + 1))
    # shellcheck disable=SC2086 # switches and files are lists of words
    check "$files" env -C "${folder// /}" $switches SVC_TEST_RESULTS="test-results-release-$number.json" npx vitest run $files
  done <scripts/release-runs.txt
fi

node scripts/test-summary.mjs --checks-failed "$(wc -l <"$state/failed-checks")" --runner-failed "$(wc -l <"$state/failed-tests")" \
  --jobs "$state/jobs" --folders "$folders" --seconds "$((SECONDS - began))"

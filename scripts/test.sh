#!/usr/bin/env bash
# Runs every check and every test, and ends with one line: N passed, N failed, N skipped.
# Tests that need root or a kernel feature run for real where they can and say why where they cannot.
set -uo pipefail
# Nothing of this repository reports about its users.
export TURBO_TELEMETRY_DISABLED=1
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

scripts/setup.sh --for tests || exit 1

# SVC_NODE=24 runs everything on another version of Node, which npm brings.
if [ -n "${SVC_NODE:-}" ]; then
  node_directory=$(node scripts/node-runtime.mjs "$SVC_NODE") || exit 1
  export PATH=$node_directory:$PATH
  echo "Tests run on Node $(node --version)."
fi

export SVC_TEST_BUILT=1 # setup.sh has just built: programs that tests start need not be read from their sources
state=$(mktemp -d "${TMPDIR:-/tmp}/svc-test.XXXXXX")
chmod 711 "$state" # PostgreSQL runs as its own user
touch "$state/failed-checks" "$state/failed-tests"
trap 'scripts/postgres.sh stop; rm -rf "$state"' EXIT

# Runs one step and prints what it said in one piece, so that steps may run side by side.
check() { # check NAME COMMAND...
  local name=$1 started=$SECONDS output
  shift
  output=$(mktemp "$state/output.XXXXXX")
  "$@" >"$output" 2>&1 || { echo "$name" >>"$state/failed-checks"; printf '!! failed: %s\n' "$*" >>"$output"; }
  printf '\n== %s (%s s)\n%s\n' "$name" "$((SECONDS - started))" "$(cat "$output")"
}

# Runs the tests of one package.
tests() { # tests FOLDER
  local started=$SECONDS
  (cd "$1" && exec npm test --silent) 2>&1 | sed -u "s|^|${1#packages/}: |"
  [ "${PIPESTATUS[0]}" = 0 ] || echo "$1" >>"$state/failed-tests"
  printf '\n== Tests of %s (%s s)\n' "$1" "$((SECONDS - started))"
}

# Begins one job of the run beside those that run; once there are two, when one of them has ended.
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

conformance() {
  tests packages/conformance
  check "Table of coverage" npm run coverage -w packages/conformance -- --check
}

# What differs between the versions of Node that are supported, on one that this run is not on.
other_node() { # other_node VERSION
  local options=()
  # Version 22 is between 20, where that is what everything runs on, and 24, on which all of this does.
  case "$1 $(node --version) ${SVC_OTHER_NODES-22 24}" in '22 v20.'*' 24'*) options=(--brief) ;; esac
  scripts/test-on-node.sh "$1" "${options[@]}" || echo "Node $1" >>"$state/failed-tests"
}

# In this order, two at a time. What takes long comes before what is short, so that both end about together; runtime, whose sandboxes
# mostly wait, and what needs the processors are side by side.
job check "Format and lint" node_modules/.bin/biome check --error-on-warnings .
job check "Imports, specifications, generated code, shell scripts, links" node scripts/check-all.mjs
job check "Types" npm run typecheck --silent
job check "API reference and documentation site" node scripts/site.mjs
first=(packages/{runtime,sdk,bench,server,conformance,cli} examples packages/code-interpreter)
for folder in "${first[@]}"; do
  if [ "$folder" = packages/conformance ]; then job conformance; else job tests "$folder"; fi
done
for version in ${SVC_OTHER_NODES-22 24}; do
  case $(node --version) in "v$version".*) continue ;; esac
  job other_node "$version"
done
for config in packages/*/vitest.config.ts examples/vitest.config.ts; do
  folder=$(dirname "$config")
  [[ " ${first[*]} " == *" $folder "* ]] || job tests "$folder"
done
wait

node scripts/test-summary.mjs --checks-failed "$(wc -l <"$state/failed-checks")" --runner-failed "$(wc -l <"$state/failed-tests")"

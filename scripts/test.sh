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

# Runs the tests of packages, one package after the other.
tests() { # tests FOLDER...
  local folder started
  for folder; do
    started=$SECONDS
    (cd "$folder" && exec npm test --silent) 2>&1 | sed -u "s|^|${folder#packages/}: |"
    [ "${PIPESTATUS[0]}" = 0 ] || echo "$folder" >>"$state/failed-tests"
    printf '\n== Tests of %s (%s s)\n' "$folder" "$((SECONDS - started))"
  done
}

turbo() { node_modules/.bin/turbo run "$@"; }

{
  check "Format and lint" node_modules/.bin/biome check --error-on-warnings .
  check "Imports, specifications, generated code, shell scripts, links" node scripts/check-all.mjs
} &
check "Types" turbo typecheck --output-logs=errors-only --concurrency=1
check "API reference and documentation site" node scripts/site.mjs
wait

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

# Two lanes side by side, about equally long. What mostly waits for real sandboxes and programs runs in the first, and leaves much
# of two cores idle: the rest fills it.
sandboxes=(packages/runtime packages/conformance packages/cli packages/code-interpreter)
rest=()
for config in packages/*/vitest.config.ts examples/vitest.config.ts; do
  folder=$(dirname "$config")
  [[ " ${sandboxes[*]} " == *" $folder "* ]] || rest+=("$folder")
done
{
  tests "${sandboxes[@]}"
  check "Table of coverage" npm run coverage -w packages/conformance -- --check
} &
tests "${rest[@]}"
# What differs between the versions of Node that are supported, on those that this run is not on.
for version in ${SVC_OTHER_NODES-22 24}; do
  case $(node --version) in "v$version".*) continue ;; esac
  scripts/test-on-node.sh "$version" || echo "Node $version" >>"$state/failed-tests"
done
wait

node scripts/test-summary.mjs --checks-failed "$(wc -l <"$state/failed-checks")" --runner-failed "$(wc -l <"$state/failed-tests")"

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

failures=0
check() {
  printf '\n== %s\n' "$1"
  shift
  "$@" || { failures=$((failures + 1)); printf '!! failed: %s\n' "$*"; }
}

turbo() { node_modules/.bin/turbo run "$@"; }

check "Format and lint" node_modules/.bin/biome check --error-on-warnings .
check "Types" turbo typecheck --output-logs=errors-only --concurrency=2
check "Imports, specifications, generated code, shell scripts, links" node scripts/check-all.mjs
check "API reference" node scripts/docs.mjs

# PostgreSQL for the tests of the second storage dialect; without it those tests say that they are skipped.
# It has a directory of this run's own: another checkout may run its tests at the same time.
SVC_TEST_POSTGRES_DIR=$(mktemp -d "${TMPDIR:-/tmp}/svc-test-postgres.XXXXXX")
export SVC_TEST_POSTGRES_DIR
trap 'scripts/postgres.sh stop' EXIT
if postgres_url=$(scripts/postgres.sh start); then
  export SVC_TEST_POSTGRES_URL=$postgres_url
else
  echo "PostgreSQL could not be started: its tests are skipped."
fi

# One package after the other: on two cores, real servers and real sandboxes side by side would test the machine.
find packages examples -maxdepth 2 -name 'test-results*.json' -delete
printf '\n== Tests\n'
SVC_CONFORMANCE_RECORD=$(mktemp -d "${TMPDIR:-/tmp}/svc-test-coverage.XXXXXX")
export SVC_CONFORMANCE_RECORD
turbo test --concurrency=1 --continue --output-logs=full --log-order=stream || tests_failed=1
check "Table of coverage" npm run coverage -w packages/conformance -- --check
rm -rf "$SVC_CONFORMANCE_RECORD"
unset SVC_CONFORMANCE_RECORD

# What differs between the versions of Node that are supported, on those that this run is not on.
for version in ${SVC_OTHER_NODES-22 24}; do
  case $(node --version) in "v$version".*) continue ;; esac
  scripts/test-on-node.sh "$version" || tests_failed=1
done

node scripts/test-summary.mjs --checks-failed "$failures" --runner-failed "${tests_failed:-0}"

#!/usr/bin/env bash
# Runs the suites in which versions of Node could differ on another version, which npm brings:
#
#   scripts/test-on-node.sh 24            the part that the nightly tier runs
#   scripts/test-on-node.sh 22 --whole    every test of the daemon, the SDK and the server
#
# Results stand in test-results-node-VERSION.json of each package. Everything else: SVC_NODE=22 ./scripts/test.sh
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

version=${1:?version of Node, such as 22}
directory=$(node scripts/node-runtime.mjs "$version") || exit
export PATH=$directory:$PATH
export SVC_TEST_RESULTS=test-results-node-$version.json
# One dialect is enough here: what differs is Node, not the database.
unset SVC_TEST_POSTGRES_URL
printf '\n== Tests on Node %s\n' "$(node --version)"

failed=0
run() { # run PACKAGE FILTER...
  local package=$1
  shift
  [ "$whole" = no ] || set --
  (cd "packages/$package" && node ../../node_modules/vitest/vitest.mjs run "$@") || failed=1
}
whole=no
case ${2:-} in
  '') ;;
  --whole) whole=yes ;;
  *) echo "There is no option $2: --whole." >&2 && exit 2 ;;
esac

run envd test/startup test/process test/files test/http test/filesystem
run sdk test/config test/core test/files test/sandbox test/webhooks test/e2e/commands test/e2e/files test/e2e/pty
run server test/unit test/gateway test/wire/create-sandbox test/wire/lifecycle test/wire/malformed
exit $failed

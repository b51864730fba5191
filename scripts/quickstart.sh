#!/usr/bin/env bash
# From a fresh clone to the main job: sets everything up, starts a server of its own, runs examples/quickstart.mjs in a
# sandbox of it, and leaves nothing behind but what setup.sh installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh --for quickstart
printf '\n== Running examples/quickstart.mjs\n'
exec node examples/with-server.mjs "$@" examples/quickstart.mjs

#!/usr/bin/env bash
# From a fresh clone to the main job: sets everything up, starts a server of its own, runs examples/quickstart.mjs in a
# sandbox of it, and leaves nothing behind but what setup.sh installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh --for quickstart
# The first time, the template base may still be being built. That goes on; this need not wait.
if [ "$(id -u)" = 0 ] && [ -z "${SVC_BASE_ROOT:-}" ] && ! scripts/prepare-host.sh --base --check >/dev/null; then
  export SVC_BASE_ROOT=host
  echo "The template base is not built yet: this run shows sandboxes the programs of this machine instead (base root host)."
fi
printf '\n== Running examples/quickstart.mjs\n'
exec node examples/with-server.mjs "$@" examples/quickstart.mjs

#!/usr/bin/env bash
# A throw-away PostgreSQL on loopback for the tests: `start` prints its URL, `stop` ends it and removes its data.
set -euo pipefail

state=${SVC_TEST_POSTGRES_DIR:-${TMPDIR:-/tmp}/svc-test-postgres}

binaries() {
  command -v pg_ctl >/dev/null && { dirname "$(command -v pg_ctl)"; return; }
  find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1
}

# PostgreSQL refuses to run as root: the package's own user owns the throw-away cluster then.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
  else
    "$@"
  fi
}

case "${1:-}" in
  start)
    bin=$(binaries)
    [ -n "$bin" ] || { echo "PostgreSQL is not installed (Debian: apt-get install postgresql)." >&2; exit 1; }
    "$0" stop >/dev/null 2>&1 || true
    rm -rf "$state"
    mkdir -p "$state"
    if [ "$(id -u)" = 0 ]; then chown postgres "$state"; fi
    port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
    cd "$state"
    as_owner "$bin/initdb" -D "$state/data" -U svc --auth=trust --no-sync -E UTF8 >"$state/initdb.log" 2>&1
    as_owner "$bin/pg_ctl" -D "$state/data" -l "$state/postgres.log" -w -t 60 \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200" start >/dev/null
    echo "postgres://svc@127.0.0.1:$port/postgres"
    ;;
  stop)
    bin=$(binaries)
    if [ -f "$state/data/postmaster.pid" ]; then
      cd "$state"
      as_owner "$bin/pg_ctl" -D "$state/data" -m immediate -w stop >/dev/null
    fi
    rm -rf "$state"
    ;;
  *)
    echo "usage: postgres.sh start|stop" >&2
    exit 2
    ;;
esac

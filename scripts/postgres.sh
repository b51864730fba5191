#!/usr/bin/env bash
# A throw-away PostgreSQL on loopback for the tests: `start` prints its URL, `restart` ends every connection and comes
# back at the same URL, `stop` ends it and removes its data. SVC_TEST_POSTGRES_DIR names its directory, one for each
# that runs; SVC_TEST_POSTGRES_OPTIONS adds options of the server, such as "-c max_connections=15".
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=${SVC_TEST_POSTGRES_DIR:-${TMPDIR:-/tmp}/svc-test-postgres-$(printf '%s' "$checkout" | cksum | cut -d ' ' -f 1)}

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

free_port() {
  node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}

start() {
  local port
  # Somebody else may take a free port before PostgreSQL does.
  for _ in 1 2 3 4 5; do
    port=$(free_port)
    if as_owner "$bin/pg_ctl" -D "$state/data" -l "$state/postgres.log" -w -t 60 \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=200 ${SVC_TEST_POSTGRES_OPTIONS:-}" start >/dev/null; then
      echo "postgres://svc@127.0.0.1:$port/postgres"
      return
    fi
  done
  cat "$state/postgres.log" >&2
  return 1
}

case "${1:-}" in
  start)
    bin=$(binaries)
    [ -n "$bin" ] || { echo "PostgreSQL is not installed (Debian: apt-get install postgresql)." >&2; exit 1; }
    "$0" stop >/dev/null 2>&1 || true
    rm -rf "$state"
    mkdir -p "$state"
    if [ "$(id -u)" = 0 ]; then chown postgres "$state"; fi
    cd "$state"
    as_owner "$bin/initdb" -D "$state/data" -U svc --auth=trust --no-sync -E UTF8 >"$state/initdb.log" 2>&1
    start
    ;;
  restart)
    bin=$(binaries)
    cd "$state"
    as_owner "$bin/pg_ctl" -D "$state/data" -m fast -w -t 60 restart -l "$state/postgres.log" >/dev/null
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
    echo "usage: postgres.sh start|restart|stop" >&2
    exit 2
    ;;
esac

#!/bin/sh
# shellcheck source-path=SCRIPTDIR
# CRIU calls this at each stage.
#
# Of a dump: before it touches a process it has the driver freeze them: by then all the programs that a dump needs have
# started, and the source need not wait for that. The file system is copied at the end and not afterwards: only until then
# do names exist for files that are open and have lost theirs.
#
# Of a restore: the network is there before any socket is made, because a socket that is connected needs a route and one for
# ICMP the right to be made. Variables as for instance_boot. With TRIAL set, CRIU gives up when everything is
# restored and before any of it runs: what remains is the file TRIAL.
cd "$STORE" || exit
case $CRTOOLS_SCRIPT_ACTION in
pre-dump)
  echo ready >"$WORK/stage"
  read -r word <"$ANSWER"
  [ "$word" = go ]
  ;;
post-dump)
  # shellcheck source=functions/store.sh
  . "$SCRIPTS/functions/store.sh"
  store_copy "$COPY_FROM" "$COPY_TO"
  ;;
post-setup-namespaces)
  # shellcheck source=functions/network.sh
  . "$SCRIPTS/functions/network.sh"
  network_attach "$CRTOOLS_INIT_PID"
  ;;
post-restore)
  [ -z "$TRIAL" ] || { : >"$TRIAL" && exit 1; }
  ;;
esac

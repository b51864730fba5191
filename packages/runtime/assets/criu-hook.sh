#!/bin/sh
# CRIU calls this at each stage of a dump. Before it touches a process it has the driver freeze them: by then all the
# programs that a dump needs have started, and the source need not wait for that. The file system is copied at the end
# and not afterwards: only until then do names exist for files that are open and have lost theirs.
cd "$STORE" || exit
case $CRTOOLS_SCRIPT_ACTION in
pre-dump)
  echo ready >"$WORK/stage"
  read -r word <"$ANSWER"
  [ "$word" = go ]
  ;;
post-dump)
  # shellcheck source-path=SCRIPTDIR source=functions/store.sh
  . "$SCRIPTS/functions/store.sh"
  store_copy "$COPY_FROM" "$COPY_TO"
  ;;
esac

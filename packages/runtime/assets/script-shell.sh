#!/bin/sh
# shellcheck shell=dash
# Stays in the driver's namespace and runs calls of the functions beside it, each in a subshell, side by side.
#
# usage: script-shell.sh DIRECTORY MARK     (MARK only shows on the command line: whose shell it is)
#
# Standard input, a line each:
#   NAME          runs the call in the file DIRECTORY/NAME; its output goes to NAME.out and NAME.err
#   NAME WORD     gives WORD to a running call that waits for an answer in NAME.answer
#   (empty)       only collects the processes that have ended
# Standard output:
#   began NAME PID
#   asks NAME
#   ended NAME CODE
# A call whose name begins with "ask-" may write "asks NAME" to descriptor 3; for others it is closed.
SCRIPTS=$1
ulimit -c 0
# Root of an instance is nobody in the namespace, and has to reach what is mounted for it.
umask 022
for file in "$SCRIPTS"/functions/*.sh; do
  # shellcheck source=/dev/null
  . "$file"
done
exec 3>&1
while read -r CALL word; do
  jobs >/dev/null 2>&1
  [ -n "$CALL" ] || continue
  if [ -n "$word" ]; then
    echo "$word" 1<>"$SCRIPTS/$CALL.answer"
    continue
  fi
  {
    # shellcheck source=/dev/null
    case $CALL in
    ask-*) (. "$SCRIPTS/$CALL") >"$SCRIPTS/$CALL.out" 2>"$SCRIPTS/$CALL.err" </dev/null ;;
    *) (. "$SCRIPTS/$CALL") >"$SCRIPTS/$CALL.out" 2>"$SCRIPTS/$CALL.err" </dev/null 3>&- ;;
    esac
    echo "ended $CALL $?"
  } &
  echo "began $CALL $!"
done
# The server exited, so nobody answers any more.
for waiting in "$SCRIPTS"/*.answer; do
  [ ! -p "$waiting" ] || echo no 1<>"$waiting"
done

# shellcheck shell=dash
# Storing an instance.

# Writes the memory of an instance by a command line of CRIU, whose hook copies the file system meanwhile: COPY_FROM
# to COPY_TO. WORK is the directory of the dump, CALL the name of this call. Asks when everything is ready and only the
# the final freeze is missing; continues with the answer `go`. Ends with CRIU's own exit code.
checkpoint_dump() {
  ANSWER=$SCRIPTS/$CALL.answer
  export STORE STORE_KIND COPY_FROM COPY_TO WORK SCRIPTS ANSWER
  mkfifo "$WORK/stage" "$ANSWER" || exit 9
  exec 4<>"$WORK/stage" 5<>"$ANSWER"
  # A server that exited meanwhile will never answer.
  kill -0 $$ || echo no >&5
  {
    "$@" </dev/null >/dev/null 2>&1 3>&- 4<&- 5<&-
    echo "$?" >&4
  } &
  while read -r word <&4; do
    case $word in
    ready) echo "asks $CALL" >&3 ;;
    *)
      rm -f "$ANSWER"
      exit "$word"
      ;;
    esac
  done
}

# Makes the file system of a checkpoint ready for copies. Answers what it takes: the number of its subvolume, or bytes.
checkpoint_measure() { # DRAFT
  writable_forget "$1/sv"
  [ -z "$DURABLE" ] || sync -f "$1" || return
  if [ -n "$COUNTED" ]; then store_identify "$1/sv"; else store_measure "$1/sv"; fi
}

checkpoint_flush() { # CHECKPOINT
  sync -f "$1"
}

# shellcheck shell=dash
# Every file here: names in capitals are given by the caller, as are arguments. What a function prints with `answer` is
# its result; what goes to standard error is for people.

answer() { # NAME VALUE: one line of the result
  printf '%s=%s\n' "$1" "$2"
}

one_line() { # TEXT: with blanks in place of line ends
  printf '%s' "$1" | tr '\n' ' '
}

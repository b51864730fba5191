# shellcheck shell=sh
# Where the host gets Debian's packages from.

debian_mirror() { # ARCHIVE: prints the first one in the apt sources, either style of file, whose address ends in the name
  if [ "$1" = debian ] && [ -n "${SVC_DEBIAN_MIRROR:-}" ]; then
    echo "$SVC_DEBIAN_MIRROR"
    return
  fi
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n -e 's/^[[:space:]]*URIs:[[:space:]]*//p' -e 's/^[[:space:]]*deb[[:space:]]\{1,\}\(\[[^]]*\][[:space:]]*\)\{0,1\}//p' |
    awk '{ print $1 }' | grep -E "/$1/?\$" | head -n 1 | sed 's#/$##' || true
}

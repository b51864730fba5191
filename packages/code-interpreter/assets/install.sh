#!/bin/sh
# Installs what the interpreter needs from Debian's packages, and leaves out what cells never import. Run as root, once.
set -eu
set -- python3-ipykernel python3-jupyter-client python3-matplotlib python3-numpy python3-pandas
modules=/usr/lib/python3/dist-packages

# Bytecode is made at the end, of what is used: packages would make it of all that they have, tests included.
dpkg-divert --quiet --local --rename --divert /usr/bin/py3compile.later --add /usr/bin/py3compile
ln -s /bin/true /usr/bin/py3compile

# A mirror may fail for a moment; what it has sent by then is kept. Without the option a list that could not be had is a warning.
install() {
  apt-get -qq -o APT::Update::Error-Mode=any update &&
    DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends "$@"
}
for pause in 2 10 none; do
  ! install "$@" >/tmp/apt.log 2>&1 || break
  if [ "$pause" = none ]; then
    tail -n 20 /tmp/apt.log
    exit 1
  fi
  sleep "$pause"
done
rm /usr/bin/py3compile
dpkg-divert --quiet --local --rename --remove /usr/bin/py3compile

find "$modules" -type d -name tests ! -path '*/numpy/*' -prune -exec rm -rf {} +
rm -rf "$modules"/numpy/*/include /usr/include/python3* /usr/share/icons
for used in \
  'ipykernel.kernelapp, IPython.core.ultratb, IPython.lib.display, jupyter_client.manager, tornado.web' \
  'pandas, matplotlib.pyplot, matplotlib_inline.backend_inline, matplotlib.backends.backend_svg, PIL.Image' \
  'numpy.testing, scipy.stats, scipy.optimize, scipy.signal, scipy.interpolate, scipy.integrate, scipy.ndimage'; do
  python3 -c "import $used"
done
apt-get clean
rm -rf /var/lib/apt/lists/* /tmp/apt.log /var/log/apt /var/log/dpkg.log

/** A script for `/bin/sh -c`: runs the command line in `$1` by a login shell, bash where the image has it. */
export const IN_LOGIN_SHELL = `[ -x /bin/bash ] && shell=/bin/bash || shell=/bin/sh
exec "$shell" -l -c "$1"`;

/** Makes login shells keep the PATH of the template, `$1`: `/etc/profile` sets its own. */
export const pathProfile = `set -eu
mkdir -p /etc/profile.d
printf 'export PATH=%s\\n' "'$(printf %s "$1" | sed "s/'/'\\\\\\\\''/g")'" > /etc/profile.d/90-template-path.sh`;

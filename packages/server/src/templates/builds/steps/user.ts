import { BuildError } from '../shared/build.js';
import { expandVariables, readText, variablesOf } from './env.js';
import type { StepReader } from './step.js';

const NAME = /^[a-z_][a-z0-9_-]{0,31}$/;

/**
 * Makes a user without tools that may be missing in an image: lines in the account files, a group of the same name, a home.
 * Prints whether anything changed. `$1` name, `$2` wanted number or empty.
 */
export const MAKE_USER = `set -eu
name=$1 uid=\${2:-1000} home=/home/$1
if grep -q "^$name:" /etc/passwd 2>/dev/null; then echo unchanged; exit 0; fi
while grep -q "^[^:]*:[^:]*:$uid:" /etc/passwd /etc/group 2>/dev/null; do uid=$((uid + 1)); done
gid=$uid
if grep -q "^$name:" /etc/group 2>/dev/null; then gid=$(sed -n "s/^$name:[^:]*:\\([0-9]*\\):.*/\\1/p" /etc/group)
else echo "$name:x:$gid:" >> /etc/group; fi
shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash
echo "$name:x:$uid:$gid:$name:$home:$shell" >> /etc/passwd
[ -f /etc/shadow ] && echo "$name:*:19000:0:99999:7:::" >> /etc/shadow
if [ ! -d "$home" ]; then
  mkdir -p "$home"
  [ -d /etc/skel ] && cp -R /etc/skel/. "$home/"
  chmod 755 "$home"
fi
chown -R "$uid:$gid" "$home"
echo changed`;

const ALLOW_SUDO = `set -eu
file=/etc/sudoers.d/90-$1
[ -f "$file" ] && { echo unchanged; exit 0; }
mkdir -p /etc/sudoers.d
echo "$1 ALL=(ALL:ALL) NOPASSWD: ALL" > "$file"
chmod 440 "$file"
echo changed`;

/** `USER name [true]`: the default user from here on, made when missing; `true` lets it use sudo without a password. */
export const readUser: StepReader = ({ args = [] }, limits) => {
  const [written = '', sudo = 'false'] = args;
  const text = readText(written, 'USER');
  const nameIn = (variables: ReadonlyMap<string, string>) => {
    const name = expandVariables(text, variables, 'USER');
    if (!NAME.test(name)) throw new BuildError(`USER: '${name}' is not a user name`);
    if (!limits.rootfs && name !== 'user' && name !== 'root')
      throw new BuildError(
        `USER: this server runs sandboxes as plain processes, which have no users of their own: '${name}' cannot be made`,
      );
    return name;
  };
  const isPlain = text.every((part) => typeof part === 'string');
  if (isPlain) nameIn(new Map());
  return {
    title: `USER ${written}`,
    ...(limits.rootfs && (written !== 'root' || sudo === 'true')
      ? {
          work: async (state, { machine, log }) => {
            const name = nameIn(variablesOf(state));
            const made = await machine.script('USER', MAKE_USER, [name, '']);
            if (sudo !== 'true') return made === 'changed' ? 'changed' : 'unchanged';
            const allowed = await machine.script('USER', ALLOW_SUDO, [name]);
            log.add(
              'warn',
              'sudo is set up, but programs in these sandboxes cannot gain rights: use the user root where they are needed',
            );
            return made === 'changed' || allowed === 'changed' ? 'changed' : 'unchanged';
          },
        }
      : {}),
    after: (state) => ({ user: nameIn(variablesOf(state)) }),
  };
};

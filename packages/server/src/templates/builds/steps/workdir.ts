import { posix } from 'node:path';
import { BuildError, type BuildState, homeOf } from '../shared/build.js';
import { expandVariables, readText, variablesOf } from './env.js';
import type { StepReader } from './step.js';

/** Makes a directory with its parents. New directories belong to `$2`; empty: to the user that runs this. */
const MAKE_DIRECTORY = `set -eu
case "$1" in /*) path=$1;; *) path=$HOME/$1;; esac
if [ -d "$path" ]; then echo unchanged; exit 0; fi
missing=$path; up=$(dirname "$path")
while [ ! -e "$up" ]; do missing=$up; up=$(dirname "$up"); done
mkdir -p "$path"
[ -z "$2" ] || chown -R "$2" "$missing"
echo changed`;

/** `WORKDIR path`: made when missing, owned by the current user; relative to the one before, which is `/` at first. */
export const readWorkdir: StepReader = ({ args = [] }, limits) => {
  const [path = ''] = args;
  if (path.trim() === '') throw new BuildError('WORKDIR needs a path');
  const text = readText(path, 'WORKDIR');
  const resolve = (state: BuildState): string => {
    const wanted = expandVariables(text, variablesOf(state), 'WORKDIR');
    if (!limits.rootfs) {
      const absolute = wanted.startsWith('/') || wanted.startsWith('~');
      return homePath(absolute ? wanted : posix.join(state.workdir ?? '', wanted), 'WORKDIR');
    }
    if (wanted === '~' || wanted.startsWith('~/')) return posix.join(homeOf(state.user), wanted.slice(1));
    return posix.resolve(state.workdir ?? '/', wanted);
  };
  return {
    title: `WORKDIR ${path}`,
    work: async (state, { machine }) => {
      const owner = limits.rootfs ? state.user : '';
      const made = await machine.script('WORKDIR', MAKE_DIRECTORY, [resolve(state) || '.', owner]);
      return made === 'changed' ? 'changed' : 'unchanged';
    },
    after: (state) => {
      const workdir = resolve(state);
      return { workdir: workdir === '' ? null : workdir };
    },
  };
};

/**
 * A path for drivers whose layers hold the home directory alone, relative to it; empty for the home itself.
 * `/home/user` means the home, wherever it really is.
 * @throws {BuildError} when it is outside the home
 */
export function homePath(path: string, what: string): string {
  const home = '/home/user';
  const absolute = path === '~' || path.startsWith('~/') ? posix.join(home, path.slice(1)) : path;
  const relative = posix.relative(home, posix.resolve(home, absolute));
  if (relative === '..' || relative.startsWith('../'))
    throw new BuildError(
      `${what}: this server keeps only the home directory of a template, so '${path}' cannot be used; start the server with the linux driver for whole file systems`,
    );
  return relative;
}

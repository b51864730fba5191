import { posix } from 'node:path';
import { BuildError } from '../shared/build-error.js';
import { type BuildState, homeOf } from '../shared/build-state.js';
import { expandVariables, readText } from '../shared/expand-variables.js';
import { variablesOf } from './env.js';
import { homePath } from './home-path.js';
import type { StepReader } from './step.js';

/** Makes a directory with its parents. New directories belong to `$2`; empty: to the user that runs this. */
export const MAKE_DIRECTORY = `set -eu
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

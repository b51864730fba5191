import type { BuildState } from '../shared/build.js';
import { BuildError } from '../shared/build.js';
import type { StepReader } from './step.js';

/** A login shell may reset PATH, so it is set again inside. */
const LOGIN_SHELL = `[ -x /bin/bash ] && shell=/bin/bash || shell=/bin/sh
if [ -n "$2" ]; then exec "$shell" -l -c "export PATH='$2'
$1"; else exec "$shell" -l -c "$1"; fi`;

/** `RUN command [user]`: by a login shell; fails the build when it does not end with 0. */
export const readRun: StepReader = ({ args = [] }) => {
  const [command = '', user = ''] = args;
  if (command.trim() === '') throw new BuildError('RUN needs a command');
  return {
    title: `RUN ${command}`,
    work: async (state, { machine, log }) => {
      const code = await machine.run({
        script: LOGIN_SHELL,
        args: [command, pathFor(state)],
        user: user === '' ? state.user : user,
        cwd: state.workdir ?? undefined,
        env: { ...state.args, ...state.env },
        onLine: (stream, line) => log.add(stream === 'stdout' ? 'info' : 'warn', line),
      });
      if (code !== 0)
        throw new BuildError(
          code < 0
            ? `the command was ended by a signal: ${command}`
            : `the command ended with exit status ${code}: ${command}`,
        );
      return 'changed';
    },
  };
};

/** The PATH that the template sets; empty when it sets none, or one that cannot stand between quotes. */
function pathFor(state: BuildState): string {
  const path = { ...state.args, ...state.env }.PATH ?? '';
  return path.includes("'") ? '' : path;
}

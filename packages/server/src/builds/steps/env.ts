import { BuildError } from '../shared/build-error.js';
import type { WireStep } from '../shared/build-job.js';
import { type BuildState, DEFAULT_PATH, homeOf } from '../shared/build-state.js';
import { expandVariables } from '../shared/expand-variables.js';
import type { Step } from './step.js';

/** What `$NAME` may mean inside a build. */
export function variablesOf(state: BuildState): Record<string, string> {
  return { PATH: DEFAULT_PATH, HOME: homeOf(state.user), USER: state.user, ...state.env, ...state.args };
}

/**
 * `ENV name value ...` for sandboxes and the steps after it; `ARG name value ...` for the steps alone. Later pairs see
 * the earlier ones.
 */
export function readEnv(step: WireStep, kind: 'ENV' | 'ARG'): Step {
  const args = step.args ?? [];
  if (args.length === 0 || args.length % 2 !== 0)
    throw new BuildError(`${kind} needs pairs of a name and a value`);
  const pairs: [string, string][] = [];
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i]!;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new BuildError(`${kind}: '${name}' is not a variable name`);
    pairs.push([name, args[i + 1]!]);
  }
  return {
    title: `${kind} ${pairs.map(([name]) => name).join(' ')}`,
    after: (state) => {
      const field = kind === 'ENV' ? 'env' : 'args';
      let now = state;
      for (const [name, value] of pairs)
        now = { ...now, [field]: { ...now[field], [name]: expandVariables(value, variablesOf(now)) } };
      return { [field]: now[field] };
    },
  };
}

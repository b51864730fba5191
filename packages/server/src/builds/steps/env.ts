import type { StepText } from '@svc/platform';
import { BuildError } from '../shared/build-error.js';
import type { WireStep } from '../shared/build-job.js';
import { type BuildState, DEFAULT_PATH, homeOf, OWN_ARCHITECTURE } from '../shared/build-state.js';
import { expandVariables, readText } from '../shared/expand-variables.js';
import type { Step } from './step.js';

/** What Dockerfiles may ask of the machine that they are for, and of the one that builds: here that is the same. */
const PLATFORM = Object.fromEntries(
  ['TARGET', 'BUILD'].flatMap((machine) => [
    [`${machine}PLATFORM`, `linux/${OWN_ARCHITECTURE}`],
    [`${machine}OS`, 'linux'],
    [`${machine}ARCH`, OWN_ARCHITECTURE],
  ]),
);

/** What `$NAME` may mean inside a build. A variable of sandboxes, and of the image, goes before an argument of its name. */
export function variablesOf(state: BuildState): Record<string, string> {
  const { user, args, env } = state;
  return { ...PLATFORM, PATH: DEFAULT_PATH, HOME: homeOf(user), USER: user, ...args, ...env };
}

/**
 * `ENV name value ...` for sandboxes and the steps after it; `ARG name value ...` for the steps alone. Later pairs see
 * the earlier ones.
 */
export function readEnv(step: WireStep, kind: 'ENV' | 'ARG'): Step {
  const args = step.args ?? [];
  if (args.length === 0 || args.length % 2 !== 0)
    throw new BuildError(`${kind} needs pairs of a name and a value`);
  const pairs: [string, StepText][] = [];
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i]!;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw new BuildError(`${kind}: '${name}' is not a variable name`);
    pairs.push([name, readText(args[i + 1]!, `${kind} ${name}`)]);
  }
  return {
    title: `${kind} ${pairs.map(([name]) => name).join(' ')}`,
    after: (state) => {
      const field = kind === 'ENV' ? 'env' : 'args';
      let now = state;
      for (const [name, value] of pairs)
        now = {
          ...now,
          [field]: { ...now[field], [name]: expandVariables(value, variablesOf(now), `${kind} ${name}`) },
        };
      return { [field]: now[field] };
    },
  };
}

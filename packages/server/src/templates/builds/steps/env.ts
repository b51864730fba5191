import {
  type Effort,
  effortOfStep,
  expandStepText,
  parseStepText,
  type StepText,
  StepTextError,
} from '@svc/platform';
import {
  BuildError,
  type BuildState,
  DEFAULT_PATH,
  homeOf,
  OWN_ARCHITECTURE,
  type WireStep,
} from '../shared/build.js';
import type { Step } from './step.js';

/** Arguments of Dockerfiles about the machine that they are for, and the one that builds: here that is the same. */
const PLATFORM = Object.fromEntries(
  ['TARGET', 'BUILD'].flatMap((machine) => [
    [`${machine}PLATFORM`, `linux/${OWN_ARCHITECTURE}`],
    [`${machine}OS`, 'linux'],
    [`${machine}ARCH`, OWN_ARCHITECTURE],
  ]),
);

/** Most that all variables of a build may be, characters: programs of Linux can be started with about two million. */
const MAX_VARIABLES = 1_000_000;

/** The variables of a build. A variable of sandboxes, and of the image, goes before an argument of its name. */
export function variablesOf({ user, args, env }: BuildState): Map<string, string> {
  const given = { PATH: DEFAULT_PATH, HOME: homeOf(user), USER: user };
  return new Map([PLATFORM, given, args, env].flatMap((variables) => Object.entries(variables)));
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
      const [field, other] = kind === 'ENV' ? (['env', 'args'] as const) : (['args', 'env'] as const);
      const known = variablesOf(state);
      const own = new Map(Object.entries(state[field]));
      const effort = effortOfStep();
      const lengthOf = (name: string, value = '') => name.length + value.length;
      let total = 0;
      for (const variable of [...own, ...Object.entries(state[other])]) total += lengthOf(...variable);
      for (const [name, text] of pairs) {
        const value = expandVariables(text, known, `${kind} ${name}`, effort);
        total += lengthOf(name, value) - (own.has(name) ? lengthOf(name, own.get(name)) : 0);
        if (total > MAX_VARIABLES)
          throw new BuildError(
            `${kind} ${name}: the variables of the build become longer than ${MAX_VARIABLES} characters together`,
          );
        own.set(name, value);
        if (kind === 'ENV' || !Object.hasOwn(state.env, name)) known.set(name, value);
      }
      return { [field]: Object.fromEntries(own) };
    },
  };
}

/** Reads a text of a step, before anything is built. @param what of which step it is. @throws {BuildError} */
export function readText(text: string, what: string): StepText {
  return asBuildError(what, () => parseStepText(text));
}

/**
 * Returns the text with the values of its variables; unknown ones are empty.
 * @param effort that it shares with other texts of its step
 * @throws {BuildError}
 */
export function expandVariables(
  text: StepText,
  variables: ReadonlyMap<string, string>,
  what: string,
  effort?: Effort,
): string {
  return asBuildError(what, () => expandStepText(text, (name) => variables.get(name), effort));
}

function asBuildError<Result>(what: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof StepTextError) throw new BuildError(`${what}: ${error.message}`);
    throw error;
  }
}

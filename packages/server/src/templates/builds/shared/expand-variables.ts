import { type Effort, expandStepText, parseStepText, type StepText, StepTextError } from '@svc/platform';
import { BuildError } from './build-error.js';

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

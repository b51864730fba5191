import { expandStepText, formatStepText, type StepText, StepTextError } from '@svc/platform';
import { type DockerInstruction, dockerfileError } from './read-instructions.js';
import { readWord, splitWords, variableName } from './words.js';

/** Variables that the service knows of the machine that it builds for, and no file says. */
const PLATFORM = /^(TARGET|BUILD)(PLATFORM|OS|ARCH)$/;

/** The value of a variable as it is known here, or that only the service knows it. */
type Known = { value: string } | 'by the service';

/**
 * The variables of a Dockerfile as far as this file defines them. Values are put in by the service, which knows those of
 * the image; here they are needed for what happens on this machine alone: the image to start from, and files to send.
 */
export class DockerVariables {
  readonly #buildArgs: Readonly<Record<string, string>>;
  /** Of ARG before FROM. */
  readonly #global = new Map<string, string>();
  readonly #args = new Map<string, Known>();
  readonly #env = new Map<string, Known>();

  constructor(buildArgs: Readonly<Record<string, string>>) {
    this.#buildArgs = buildArgs;
  }

  /** Follows an ARG before FROM. */
  addGlobal(instruction: DockerInstruction): void {
    for (const [name, text] of readArgs(instruction)) {
      const value = this.#given(name) ?? (text && this.globalValue(text, instruction.line));
      if (value !== undefined) this.#global.set(name, value);
    }
  }

  /** The value of a text in FROM. */
  globalValue(text: StepText, line: number): string {
    return expand(text, line, (name) => this.#global.get(name));
  }

  /** Follows an ARG. @returns the words for the service, each a text of a step */
  addArgs(instruction: DockerInstruction): Record<string, string> {
    const result: Record<string, string> = {};
    for (const [name, written] of readArgs(instruction)) {
      const outside = this.#given(name) ?? (written ? undefined : this.#global.get(name));
      const service = PLATFORM.test(name) ? [{ name, operator: undefined, word: [] }] : undefined;
      const text = outside === undefined ? (written ?? service) : [outside];
      if (text === undefined) continue;
      this.#args.set(name, this.#know(text, instruction.line));
      result[name] = formatStepText(text);
    }
    return result;
  }

  /**
   * Follows an ENV, of which each value sees what was before the instruction. @returns the words for the service, in an
   * order in which it comes to the same: there, later values see the earlier ones
   */
  addEnv(pairs: readonly (readonly [string, StepText])[], line: number): Record<string, string> {
    const left = new Map(pairs);
    const known = [...left].map(([name, text]) => [name, this.#know(text, line)] as const);
    const result: Record<string, string> = {};
    while (left.size > 0) {
      const next = [...left].find(([name]) =>
        [...left].every(([other, text]) => other === name || !uses(text).has(name)),
      );
      if (next === undefined)
        throw dockerfileError(
          line,
          `the values of ${[...left.keys()].join(', ')} use each other: write several ENV instructions.`,
        );
      const [name, text] = next;
      result[name] = formatStepText(text);
      left.delete(name);
    }
    for (const [name, value] of known) this.#env.set(name, value);
    return result;
  }

  /** The value of a text that is needed on this machine. @throws InvalidRequestError when only the service knows it */
  value(text: StepText, line: number): string {
    return expand(text, line, (name) => {
      const known = this.#find(name);
      if (known !== 'by the service') return known.value;
      throw dockerfileError(
        line,
        `${name} is not known before the build: give it by ARG or ENV of this file, without the image's own variables in it.`,
      );
    });
  }

  #know(text: StepText, line: number): Known {
    const unknown = [...uses(text)].some((name) => this.#find(name) === 'by the service');
    return unknown ? 'by the service' : { value: this.value(text, line) };
  }

  #find(name: string): Known {
    return this.#env.get(name) ?? this.#args.get(name) ?? 'by the service';
  }

  #given(name: string): string | undefined {
    return Object.hasOwn(this.#buildArgs, name) ? this.#buildArgs[name] : undefined;
  }
}

/** The names in an ARG, and the defaults that they have. */
function readArgs({ rest, line, escaping }: DockerInstruction): [string, StepText | undefined][] {
  const words = splitWords(rest, escaping);
  if (words.length === 0) throw dockerfileError(line, 'ARG needs a name.');
  return words.map((word) => {
    const at = word.indexOf('=');
    if (at < 0) return [variableName(word, line), undefined];
    return [variableName(word.slice(0, at), line), readWord(word.slice(at + 1), line, escaping)];
  });
}

function uses(text: StepText): Set<string> {
  return new Set(text.flatMap((part) => (typeof part === 'string' ? [] : [part.name, ...uses(part.word)])));
}

function expand(text: StepText, line: number, find: (name: string) => string | undefined): string {
  try {
    return expandStepText(text, find);
  } catch (error) {
    if (error instanceof StepTextError) throw dockerfileError(line, `${error.message}.`);
    throw error;
  }
}

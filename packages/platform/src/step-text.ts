/** A text in which variables stand, read: plain text and uses of variables, in order. */
export type StepText = readonly (string | VariableUse)[];

/** `${name}`, or with an operator and a word behind it. */
export interface VariableUse {
  readonly name: string;
  /** Undefined: the value alone. A colon takes an empty value for none. */
  readonly operator: '-' | ':-' | '+' | ':+' | '?' | ':?' | '#' | '##' | '%' | '%%' | undefined;
  readonly word: StepText;
}

/** The cost that the patterns of several texts may still have together. */
export interface Effort {
  left: number;
}

/** Enough for a step, however many texts it has. */
export function effortOfStep(): Effort {
  return { left: MAX_EFFORT };
}

/** Why a text cannot be read, or has no value. `message` is a clause fit for an end user. */
export class StepTextError extends Error {
  override readonly name = 'StepTextError';
}

/** Longest value, characters: what Linux takes as one variable. Values may be put into each other again and again. */
const MAX_VALUE = 131_072;
const MAX_PATTERN = 1_000;
/** Most that patterns of one step may cost, characters of values times those of patterns: half a tenth of a second. */
const MAX_EFFORT = 20_000_000;
const MAX_DEPTH = 100;

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR = /:[-+?]|##?|%%?|[-+?]/y;

/**
 * Reads a value of an `ENV` or `ARG` step, the path of `WORKDIR` or `COPY`, the name of `USER`: `$NAME`, `${NAME}` and
 * `${NAME<operator>word}` with the operators of {@link VariableUse}. A backslash before `$`, and before `}` within
 * braces, makes it a plain character; before that a backslash stands for itself when it is written twice, and in other places
 * always. Nothing is run: `$(...)` stays as it is.
 * @throws {StepTextError}
 */
export function parseStepText(text: string): StepText {
  return new Reader(text, undefined).all();
}

/**
 * Reads one word of a Dockerfile, or several as one: quotes are taken away and hold what is in them together, single ones as it
 * stands there.
 * @param escaping the character that makes the next one plain
 * @throws {StepTextError}
 */
export function parseDockerWord(text: string, escaping: '\\' | '`' = '\\'): StepText {
  return new Reader(text, escaping).all();
}

class Reader {
  readonly #text: string;
  /** Of a Dockerfile, which has quotes too. */
  readonly #escape: string | undefined;
  #at = 0;
  #depth = 0;

  constructor(text: string, escaping: string | undefined) {
    this.#text = text;
    this.#escape = escaping;
  }

  all(): StepText {
    return this.#until(undefined, false);
  }

  /** @param pattern whether escapes are for who reads the pattern, as in `${A%\*}` */
  #until(stop: '}' | '"' | undefined, pattern: boolean): StepText {
    const parts: (string | VariableUse)[] = [];
    const add = (part: string | VariableUse) => {
      const last = parts.at(-1);
      if (typeof part !== 'string') parts.push(part);
      else if (typeof last === 'string') parts[parts.length - 1] = last + part;
      else if (part !== '') parts.push(part);
    };
    for (;;) {
      const character = this.#text[this.#at];
      if (character === stop) return parts;
      if (character === undefined) throw new StepTextError(`a ${stop === '}' ? '${' : stop} is not closed`);
      if (character === '$') add(this.#dollar());
      else if (this.#escape === undefined && character === '\\') add(this.#backslashes(stop));
      else if (character === this.#escape) add(this.#escaped(stop, pattern));
      else if (this.#escape !== undefined && character === "'" && stop !== '"') add(this.#single());
      else if (this.#escape !== undefined && character === '"') {
        this.#at += 1;
        for (const part of this.#until('"', pattern)) add(part);
        this.#at += 1;
      } else {
        add(character);
        this.#at += 1;
      }
    }
  }

  #backslashes(stop: string | undefined): string {
    const run = /\\+/y;
    run.lastIndex = this.#at;
    const { length } = run.exec(this.#text)![0];
    this.#at += length;
    const next = this.#text[this.#at];
    if (next !== '$' && !(next === '}' && stop === '}')) return '\\'.repeat(length);
    if (length % 2 === 1) this.#at += 1;
    return '\\'.repeat(length / 2) + (length % 2 === 1 ? next : '');
  }

  #escaped(stop: string | undefined, pattern: boolean): string {
    const own = this.#escape!;
    const next = this.#text[this.#at + 1];
    this.#at += next === undefined ? 1 : 2;
    if (next === undefined) return own;
    if (stop === '"' && !['"', '$', own].includes(next)) return own + next;
    return pattern ? `\\${next}` : next;
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end < 0) throw new StepTextError("a ' is not closed");
    const content = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    return content;
  }

  #dollar(): string | VariableUse {
    this.#at += 1;
    const plain = this.#match(NAME);
    if (plain !== undefined) return { name: plain, operator: undefined, word: [] };
    const next = this.#text[this.#at] ?? '';
    if (next !== '{') {
      if (this.#escape !== undefined && /[0-9@*#?$!-]/.test(next))
        throw new StepTextError(`$${next} is no variable that is known here: write \\$ for a plain $`);
      return '$';
    }
    const start = this.#at - 1;
    this.#at += 1;
    const name = this.#match(NAME);
    const operator = name === undefined ? undefined : this.#match(OPERATOR);
    if (name === undefined || (operator === undefined && this.#text[this.#at] !== '}'))
      throw new StepTextError(
        `"${this.#text.slice(start, start + 40)}" is no variable that is known here: the forms are $NAME, \${NAME}, and \${NAME...} with one of :- - :+ + :? ? # ## % %%; write \\$ for a plain $`,
      );
    if (++this.#depth > MAX_DEPTH) throw new StepTextError('variables stand too deep in each other');
    const word = this.#until('}', /^[#%]/.test(operator ?? ''));
    this.#depth -= 1;
    this.#at += 1;
    return { name, operator: operator as VariableUse['operator'], word };
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }
}

/** Writes a text so that {@link parseStepText} reads the same. */
export function formatStepText(text: StepText): string {
  return format(text, false);
}

function format(text: StepText, braced: boolean): string {
  return text
    .map((part, index) => {
      if (typeof part !== 'string') return `\${${part.name}${part.operator ?? ''}${format(part.word, true)}}`;
      const escaped = part.replace(braced ? /(\\*)([$}])/g : /(\\*)(\$)/g, '$1$1\\$2');
      const last = index === text.length - 1;
      // A `$` or a `}` follows, before which backslashes count.
      return last && !braced ? escaped : escaped.replace(/\\+$/, '$&$&');
    })
    .join('');
}

/**
 * Returns the text with the values of its variables; unknown ones are empty.
 * @param find gives a value by its name; undefined: there is none
 * @param effort that the text shares with others of its step
 * @throws {StepTextError} where `?` asks for a value that is missing, when the text becomes longer than 131,072 characters, and when
 * its patterns cost too much
 */
export function expandStepText(
  text: StepText,
  find: (name: string) => string | undefined,
  effort: Effort = effortOfStep(),
): string {
  let result = '';
  for (const part of text) {
    result += typeof part === 'string' ? part : valueOfUse(part, find, effort);
    if (result.length > MAX_VALUE)
      throw new StepTextError(`a value becomes longer than ${MAX_VALUE} characters`);
  }
  return result;
}

function valueOfUse(
  { name, operator, word }: VariableUse,
  find: (name: string) => string | undefined,
  effort: Effort,
): string {
  const value = find(name);
  const missing = value === undefined || (operator?.startsWith(':') === true && value === '');
  switch (operator?.at(-1)) {
    case '-':
      return missing ? expandStepText(word, find, effort) : value;
    case '+':
      return missing ? '' : expandStepText(word, find, effort);
    case '?':
      if (missing)
        throw new StepTextError(`${name}: ${expandStepText(word, find, effort) || 'it has no value'}`);
      return value;
    case '#':
    case '%':
      return cutOff(value ?? '', operator!, expandStepText(word, find, effort), effort);
    default:
      return value ?? '';
  }
}

function cutOff(value: string, operator: string, patternText: string, effort: Effort): string {
  const pattern = readPattern(patternText);
  effort.left -= value.length * (pattern.length + 1);
  if (effort.left < 0)
    throw new StepTextError('patterns (# and %) of so long values take too long: use shorter ones, or fewer');
  const characters = [...value];
  const most = operator.length === 2;
  if (operator.startsWith('#')) return characters.slice(fitAtStart(characters, pattern, most)).join('');
  const cut = fitAtStart(characters.reverse(), pattern.reverse(), most);
  return characters.slice(cut).reverse().join('');
}

/** Of a pattern: a character, or `any` for `?` and `all` for `*`. */
type PatternPart = { is: string } | 'any' | 'all';

function readPattern(text: string): PatternPart[] {
  if (text.length > MAX_PATTERN)
    throw new StepTextError(`a pattern becomes longer than ${MAX_PATTERN} characters`);
  const found = text.matchAll(/\\([\s\S])|([\s\S])/gu);
  return [...found].map(([, escaped, plain]) => {
    if (escaped !== undefined) return { is: escaped };
    return plain === '*' ? 'all' : plain === '?' ? 'any' : { is: plain! };
  });
}

/** Returns the number of characters at the start of a text that a pattern fits, the least or the most; 0 where it fits none. */
function fitAtStart(text: readonly string[], pattern: readonly PatternPart[], most: boolean): number {
  const runs: Exclude<PatternPart, 'all'>[][] = [[]];
  for (const part of pattern) {
    if (part === 'all') runs.push([]);
    else runs.at(-1)!.push(part);
  }
  type Run = (typeof runs)[number];
  const fits = (run: Run, at: number) =>
    at + run.length <= text.length && run.every((part, i) => part === 'any' || part.is === text[at + i]);
  const first = runs.shift()!;
  if (!fits(first, 0)) return 0;
  const last = runs.pop();
  if (last === undefined) return first.length;
  const firstPlace = (run: Run, from: number) => {
    for (let at = from; at + run.length <= text.length; at++) if (fits(run, at)) return at;
    return undefined;
  };
  // Taken at its first place, each run between two stars leaves the most to the runs after it.
  let end: number | undefined = first.length;
  for (const run of runs) {
    end = firstPlace(run, end);
    if (end === undefined) return 0;
    end += run.length;
  }
  if (!most) end = firstPlace(last, end);
  else {
    let at = text.length - last.length;
    while (at >= end && !fits(last, at)) at -= 1;
    end = at < end ? undefined : at;
  }
  return end === undefined ? 0 : end + last.length;
}

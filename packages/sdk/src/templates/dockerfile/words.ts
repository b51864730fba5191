import { dockerfileError } from './read-instructions.js';

/** Splits at white space, with quotes and backslashes as a Dockerfile has them. */
export function splitWords(text: string, line: number): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quoted = '';
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string;
    if (quoted === "'" ? character === "'" : quoted === '"' && character === '"') quoted = '';
    else if (quoted === '' && (character === '"' || character === "'")) {
      quoted = character;
      word ??= '';
    } else if (character === '\\' && quoted !== "'" && index + 1 < text.length) {
      const next = text[++index] as string;
      // Within double quotes only these are escaped; elsewhere any character is.
      word = `${word ?? ''}${quoted === '"' && !/["\\$]/.test(next) ? `\\${next}` : next === '$' ? '\\$' : next}`;
    } else if (quoted === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = `${word ?? ''}${character}`;
  }
  if (quoted !== '') throw dockerfileError(line, `a ${quoted} is not closed.`);
  if (word !== undefined) words.push(word);
  return words;
}

/** `NAME=value NAME="other value"`, or the old `NAME value`. */
export function readPairs(text: string, line: number, instruction: string): [string, string][] {
  const words = splitWords(text, line);
  const first = words[0];
  if (first === undefined) throw dockerfileError(line, `${instruction} needs NAME=value.`);
  if (!first.includes('=')) {
    const value = text.slice(first.length).trim();
    if (value === '')
      throw dockerfileError(line, `${instruction} ${first} has no value: write ${first}=value.`);
    return [[first, value]];
  }
  return words.map((word) => {
    const at = word.indexOf('=');
    if (at <= 0) throw dockerfileError(line, `"${word}" is not NAME=value. Quote values that hold spaces.`);
    return [word.slice(0, at), word.slice(at + 1)];
  });
}

/** The list of the JSON form (`["a", "b"]`); undefined for the shell form. */
export function readJsonForm(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

/** Puts values in for `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}`. */
export function substitute(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(
    /\\\$|\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?::([-+])([^}]*))?\})/g,
    (whole, plain, braced, operator, word) => {
      if (whole === '\\$') return '$';
      const value = values[(plain ?? braced) as string];
      const isSet = value !== undefined && value !== '';
      if (operator === '-') return isSet ? value : word;
      if (operator === '+') return isSet ? word : '';
      return value ?? '';
    },
  );
}

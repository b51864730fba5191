import { parseDockerWord, type StepText, StepTextError } from '@svc/platform';
import { dockerfileError, type Escape } from './read-instructions.js';

/** Splits at white space that stands neither between quotes nor behind an escape. Quotes and escapes stay. Pure. */
export function splitWords(text: string, escaping: Escape): string[] {
  const words: string[] = [];
  let word = '';
  let quoted = '';
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string;
    if (quoted === '' && /\s/.test(character)) {
      if (word !== '') words.push(word);
      word = '';
      continue;
    }
    word += character;
    if (character === quoted) quoted = '';
    else if (quoted === '' && /["']/.test(character)) quoted = character;
    else if (character === escaping && quoted !== "'") word += text[++index] ?? '';
  }
  return word === '' ? words : [...words, word];
}

/** Reads a word, or a rest of a line as one. @throws InvalidRequestError naming the line */
export function readWord(text: string, line: number, escaping: Escape): StepText {
  try {
    return parseDockerWord(text, escaping);
  } catch (error) {
    if (error instanceof StepTextError) throw dockerfileError(line, `${error.message}.`);
    throw error;
  }
}

/** `NAME=value NAME="other value"`, or the old `NAME value`. */
export function readPairs(text: string, line: number, escaping: Escape): [string, StepText][] {
  const words = splitWords(text, escaping);
  const first = words[0];
  if (first === undefined) throw dockerfileError(line, 'ENV needs NAME=value.');
  if (!first.includes('=')) {
    const value = text.trim().slice(first.length).trim();
    if (value === '') throw dockerfileError(line, `ENV ${first} has no value: write ${first}=value.`);
    return [[variableName(first, line), readWord(value, line, escaping)]];
  }
  return words.map((word) => {
    const at = word.indexOf('=');
    if (at <= 0) throw dockerfileError(line, `"${word}" is not NAME=value. Quote values that hold spaces.`);
    return [variableName(word.slice(0, at), line), readWord(word.slice(at + 1), line, escaping)];
  });
}

/** @throws InvalidRequestError when the text is none */
export function variableName(text: string, line: number): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) return text;
  throw dockerfileError(line, `"${text}" is no name of a variable.`);
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

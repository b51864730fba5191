import { quote } from '#support/quote';
import { UsageError } from '../errors/cli-error.js';

/**
 * The command line for `sandbox exec`: several arguments are exact words, one alone is a line for the shell, so that
 * `exec ID -- cat 'my file'` and `exec ID 'ls | wc -l'` both do what they look like. Pure.
 */
export function toCommandLine(words: readonly string[]): string {
  return words.length === 1 ? words[0]! : words.map(quote).join(' ');
}

/** The same for a terminal, where a program is started without a shell unless the line needs one. Pure. */
export function toProgram(words: readonly string[]): string[] {
  const [line] = words;
  const isLine = words.length === 1 && quote(line!) !== line;
  return isLine ? ['/bin/sh', '-c', line!] : [...words];
}

/**
 * The words of a program, without the `--` that may stand before them.
 * @throws {UsageError} for an option where the program should be
 */
export function afterDashes(words: readonly string[]): string[] {
  const [first] = words;
  if (first === '--') return words.slice(1);
  if (first?.startsWith('-'))
    throw new UsageError(
      `Expected a program, got the option ${first}.`,
      'Put options before the id, and -- before the program.',
    );
  return [...words];
}

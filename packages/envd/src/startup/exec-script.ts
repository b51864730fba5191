import { quote } from '@svc/support/quote';
import type { ProgramSpec } from '../process/program.js';

/** Bytes that are written to a pipe atomically, whoever else writes. */
const LARGEST = 4096;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
// The shell gives these a meaning, or a value, of its own.
const OWN = new Set(['_', 'ENV', 'IFS', 'LINENO', 'OLDPWD', 'OPTIND', 'PPID', 'PS1', 'PS2', 'PS4', 'PWD']);

/**
 * What a shell without variables has to read to become the program, with nothing of its own left over. Undefined for
 * what cannot be said so: odd names of variables, much text.
 */
export function execScript(
  spec: Pick<ProgramSpec, 'command' | 'args' | 'environment' | 'directory'>,
): string | undefined {
  const { command, args, environment, directory } = spec;
  if (command === '' || command.startsWith('-')) return undefined;
  const names = Object.keys(environment);
  if (names.some((name) => !NAME.test(name) || OWN.has(name))) return undefined;
  const words = [command, ...args].map(quote).join(' ');
  const variables = names.map((name) => `${name}=${quote(environment[name] ?? '')}`).join(' ');
  const script = `cd -P ${quote(directory)} && unset PWD OLDPWD && export ${variables} && exec ${words} </dev/null\n`;
  return script.includes('\0') || Buffer.byteLength(script) > LARGEST ? undefined : script;
}

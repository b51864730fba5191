import type { Commands } from './commands.js';
import type { CommandResult, RunCommandOptions } from './options.js';

/**
 * Quotes a value as exactly one word of a POSIX shell.
 * @example
 * const line = `cat ${quote("it's here.txt")}`;
 */
export function quote(value: string): string {
  if (value.includes('\0')) throw new TypeError('A word of a command line cannot hold a NUL character');
  return /^[A-Za-z0-9_\-./:=@%+,]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Something that can stand in a command line. Lists become several words. */
export type ShellValue = string | number | boolean | bigint | readonly (string | number | boolean | bigint)[];

/** Fills the values of a template into its text, each quoted. */
export function commandLine(texts: TemplateStringsArray, values: readonly ShellValue[]): string {
  const words = values.map((value) => (typeof value === 'object' ? value.map(word).join(' ') : word(value)));
  return texts.raw.reduce((line, text, index) => line + words[index - 1] + text);
}

function word(value: string | number | boolean | bigint): string {
  if (value === undefined || value === null) throw new TypeError('A value of a command line is undefined');
  return quote(String(value));
}

/** Runs command lines written as templates. */
export interface Shell {
  /**
   * Runs a command line with every value quoted.
   * @wire process.Process/Start
   */
  (texts: TemplateStringsArray, ...values: ShellValue[]): Promise<CommandResult>;
  /** The same with options: `` $({ cwd: '/tmp' })`ls` ``. */
  (
    options: RunCommandOptions,
  ): (texts: TemplateStringsArray, ...values: ShellValue[]) => Promise<CommandResult>;
}

/** The tagged template of one sandbox. */
export function shellFor(commands: Commands): Shell {
  const run =
    (options: RunCommandOptions) =>
    (texts: TemplateStringsArray, ...values: ShellValue[]) =>
      commands.run(commandLine(texts, values), options);
  const shell = (first: TemplateStringsArray | RunCommandOptions, ...values: ShellValue[]) =>
    isTemplate(first) ? run({})(first, ...values) : run(first);
  return shell as Shell;
}

function isTemplate(value: TemplateStringsArray | RunCommandOptions): value is TemplateStringsArray {
  return Array.isArray(value) && 'raw' in value;
}

import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Template } from '@svc/sdk';
import { CliError } from '../../errors/cli-error.js';
import { templateFileName } from './build.js';

/** A template that was read from a file. */
export interface ReadTemplate {
  template: Template;
  file: string;
  /** What the file itself calls it. */
  name: string | undefined;
}

/**
 * Reads a template from a file or the directory it is in: a module whose default export is a `Template`, or a function
 * that is given the SDK and makes one; else a Dockerfile.
 */
export async function readDefinition(path: string): Promise<ReadTemplate> {
  const sdk = await import('@svc/sdk');
  const file = await findFile(resolve(path));
  if (definitionKind(file) === 'dockerfile')
    return { template: sdk.Template.fromDockerfile(file), file, name: undefined };
  // Sources of COPY are relative to the file, wherever the command was typed.
  process.chdir(dirname(file));
  const module = await loadModule(file);
  const made = typeof module.default === 'function' ? await module.default(sdk) : module.default;
  if (typeof made !== 'object' || made === null || !('definition' in made))
    throw new CliError(`${file} does not export a template.`, {
      hint: "Its default export must be a Template, or a function that makes one: export default ({ Template }) => Template.from('base')",
    });
  return {
    template: made as Template,
    file,
    name: typeof module.name === 'string' ? module.name : undefined,
  };
}

/**
 * How a file says what a template consists of. Pure.
 * @throws {CliError} for files that are neither
 */
export function definitionKind(file: string): 'module' | 'dockerfile' {
  const name = basename(file);
  if (/\.[cm]?[jt]s$/.test(name)) return 'module';
  if (!name.includes('.') || /dockerfile|containerfile/i.test(name)) return 'dockerfile';
  throw new CliError(`${file} is neither a module nor a Dockerfile.`, {
    exitCode: 2,
    code: 'usage',
    hint: 'A module ends with .mjs, .js or .ts; a Dockerfile has "Dockerfile" in its name.',
  });
}

async function loadModule(file: string): Promise<{ default?: unknown; name?: unknown }> {
  try {
    return (await import(pathToFileURL(file).href)) as { default?: unknown; name?: unknown };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    throw new CliError(`Node.js ${process.versions.node} does not read TypeScript: ${file}.`, {
      code: 'typescript',
      cause: error,
      hint: 'Use Node.js 22.18 or newer, write the template as .mjs, or load a compiler: NODE_OPTIONS="--import tsx".',
    });
  }
}

async function findFile(path: string): Promise<string> {
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) throw new CliError(`${path} does not exist.`);
  if (!facts.isDirectory()) return path;
  for (const name of [templateFileName, 'svc.template.ts', 'Dockerfile']) {
    const file = join(path, name);
    if (await stat(file).catch(() => undefined)) return file;
  }
  throw new CliError(`${path} has neither ${templateFileName} nor a Dockerfile.`, {
    hint: '`svc template init` writes one.',
  });
}

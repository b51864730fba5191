import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Template } from '@svc/sdk';
import { CliError } from '../../errors/cli-error.js';
import { templateFileName } from './starter.js';

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
  if (!/\.[cm]?js$/.test(file)) return { template: sdk.Template.fromDockerfile(file), file, name: undefined };
  // Sources of COPY are relative to the file, wherever the command was typed.
  process.chdir(dirname(file));
  const module = (await import(pathToFileURL(file).href)) as { default?: unknown; name?: unknown };
  const made = typeof module.default === 'function' ? await module.default(sdk) : module.default;
  if (typeof made !== 'object' || made === null || !('definition' in made))
    throw new CliError(`${file} gives no template.`, {
      hint: "Its default export must be a Template, or a function that makes one: export default ({ Template }) => Template.from('base')",
    });
  return {
    template: made as Template,
    file,
    name: typeof module.name === 'string' ? module.name : undefined,
  };
}

async function findFile(path: string): Promise<string> {
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) throw new CliError(`${path} does not exist.`);
  if (!facts.isDirectory()) return path;
  for (const name of [templateFileName, 'Dockerfile']) {
    const file = join(path, name);
    if (await stat(file).catch(() => undefined)) return file;
  }
  throw new CliError(`${path} has neither ${templateFileName} nor a Dockerfile.`, {
    hint: '`svc template init` writes a first one.',
  });
}

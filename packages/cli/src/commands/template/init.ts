import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError } from '../../errors/cli-error.js';
import { nameFor, starterText, templateFileName } from './starter.js';

export function addInit(template: Command): void {
  leaf(template, 'init [dir]', `write a ${templateFileName} to start from`)
    .option('--name <name>', 'name of the template (default: that of the directory)')
    .option('--force', 'replace an existing file')
    .action(
      act(async (cli, dir: string | undefined, flags: { name?: string; force?: boolean }) => {
        const directory = resolve(dir ?? '.');
        const name = flags.name ?? nameFor(basename(directory));
        const file = join(directory, templateFileName);
        await mkdir(directory, { recursive: true });
        await writeFile(file, starterText(name), { flag: flags.force ? 'w' : 'wx' }).catch(
          (error: NodeJS.ErrnoException) => {
            if (error.code !== 'EEXIST') throw error;
            throw new CliError(`${file} already exists.`, { hint: 'Replace it with --force.' });
          },
        );
        cli.out.result({ file, name }, () => `Wrote ${file}\n`);
        cli.out.note(`Build it with: svc template build${dir === undefined ? '' : ` ${dir}`}`);
      }),
    );
}

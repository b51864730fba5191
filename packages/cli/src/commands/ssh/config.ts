import { chmod, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { writeAtomically } from '#support/write-atomically';
import { act } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { clientOptions, proxyCommand } from './client-options.js';
import { hostKeyFiles, loadHostKey } from './host-key-file.js';
import { defaultPattern, isHostPattern } from './host-name.js';

interface ConfigFlags {
  hostPattern: string;
  write?: boolean;
  file?: string;
}

export function addSshConfigCommand(config: Command): void {
  config
    .option('--host-pattern <pattern>', 'host names that mean sandboxes', defaultPattern)
    .option(
      '--write',
      'put it into the configuration of ssh instead of printing it; repeating it changes nothing',
    )
    .option('--file <path>', 'configuration to write (default: ~/.ssh/config)')
    .addHelpText(
      'after',
      `
Afterwards, with the id or the name of a sandbox:
  ssh ID.svc
  rsync -a ./project/ ID.svc:project/
  code --remote ssh-remote+ID.svc /home/user
A user name chooses the user in the sandbox: ssh root@ID.svc`,
    )
    .action(
      act(async (cli, { hostPattern, write, file }: ConfigFlags) => {
        if (!isHostPattern(hostPattern))
          throw new UsageError(
            `${JSON.stringify(hostPattern)} is no usable pattern of host names.`,
            'It needs one star, for the id or name, and something of its own: *.svc or svc-*.',
          );
        if (file !== undefined && !write) throw new UsageError('--file goes with --write.');
        const files = hostKeyFiles(cli.env);
        await loadHostKey(files);
        const block = hostBlock(hostPattern, clientOptions(files, proxyCommand(hostPattern)));
        if (!write) return cli.out.result({ block }, () => block);
        const path = file ?? join(cli.env.HOME || homedir(), '.ssh', 'config');
        const changed = await changeFile(path, (text) => putBlock(text, block));
        cli.out.result({ file: path, changed }, () =>
          changed ? `Hosts ${hostPattern} are set up in ${path}.\n` : `${path} is set up already.\n`,
        );
      }),
    );
}

const begin = '# svc sandboxes: begin (written by `svc ssh-config --write`)';
const end = '# svc sandboxes: end';
/** Ends the block: options that stand before the first `Host` of a file hold for every host, and still do below this line. */
const everyHost = 'Match all';

/** A block of the configuration of ssh. Pure. */
export function hostBlock(pattern: string, options: readonly (readonly [string, string])[]): string {
  const lines = options.map(([name, value]) => `  ${name} ${value}`);
  return `${[begin, `Host ${pattern}`, ...lines, everyHost, end].join('\n')}\n`;
}

/**
 * Puts the block into a configuration: in the place of an older one, else first, because ssh takes the first value that it finds
 * and what stands above the first `Host` holds for all. Pure.
 */
export function putBlock(text: string, block: string): string {
  const start = text.indexOf(begin);
  const stop = text.indexOf(end, start);
  if (start !== -1 && stop !== -1) {
    const after = text.slice(stop + end.length).replace(/^\r?\n/, '');
    return `${text.slice(0, start)}${block}${after}`;
  }
  return text.trim() === '' ? block : `${block}\n${text}`;
}

/**
 * Changes a text file of the user, all or nothing, where a link leads and with the mode that it has. A new one is readable by
 * its owner alone, and so is its directory.
 * @returns whether there was something to change
 */
async function changeFile(path: string, change: (text: string) => string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const target = await realpath(path).catch(() => path);
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const before = await readFile(target, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const after = change(before);
  if (after === before) return false;
  await writeAtomically(target, after);
  await chmod(target, mode);
  return true;
}

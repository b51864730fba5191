import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { act } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { changeFile } from './change-file.js';
import { clientOptions, proxyCommand } from './client-options.js';
import { hostBlock, putBlock } from './config-block.js';
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

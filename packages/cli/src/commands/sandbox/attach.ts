import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { wholeNumber } from '../../parse/number.js';
import { followCommand } from './run-command.js';

const pidNumber = wholeNumber('The pid', 1, 4_194_304);

export function addAttach(sandbox: Command): void {
  leaf(
    sandbox,
    'attach <id> <pid>',
    'show the output of a running program, earlier output included; exits with its exit code',
  )
    .option('--new-only', 'skip earlier output')
    .action(
      act(async (cli, id: string, pid: string, flags: { newOnly?: boolean }) => {
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        const command = await handle.commands.connect(pidNumber(pid), {
          signal,
          killOnAbort: false,
          allowLostOutput: true,
          ...(flags.newOnly ? { output: 'new' } : {}),
        });
        await followCommand(cli, command);
      }),
    );
}

import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { wholeNumber } from '../../parse/number.js';
import { followCommand } from './run-command.js';

const pidNumber = wholeNumber('The pid', 1, 4_194_304);

export function addAttach(sandbox: Command): void {
  leaf(
    sandbox,
    'attach <id> <pid>',
    'show what a program of a sandbox has printed, and follow it to its end; ends with its exit code',
  )
    .option('--new-only', 'leave out what it printed before')
    .action(
      act(async (cli, id: string, pid: string, flags: { newOnly?: boolean }) => {
        const client = await cli.client();
        const { signal } = cli;
        const handle = await client.sandboxes.get(id, { signal });
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

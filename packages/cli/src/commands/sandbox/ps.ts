import type { ProcessInfo } from '@svc/sdk';
import type { Command } from 'commander';
import { quote } from '#support/quote';
import { deleteNamed } from '../../cli/delete-named.js';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatAge } from '../../output/format.js';
import { wholeNumber } from '../../parse/number.js';

const pidNumber = wholeNumber('A pid', 1, 4_194_304);

export function addPs(sandbox: Command): void {
  leaf(sandbox, 'ps <id>', 'list the running programs that clients started in a sandbox')
    .option('-q, --quiet', 'print only the pids')
    .option('--kill <pids...>', 'kill these instead of listing')
    .action(
      act(async (cli, id: string, { quiet, kill }: { quiet?: boolean; kill?: string[] }) => {
        if (quiet && kill) throw new UsageError('Use --quiet or --kill, not both.');
        const pids = kill?.map((text) => pidNumber(text));
        const { signal } = cli;
        const handle = await cli.sandbox(id, { destroys: pids !== undefined });
        if (pids !== undefined)
          return deleteNamed(
            cli,
            'process',
            pids.map(String),
            (pid) => handle.commands.kill(Number(pid), { signal }),
            'Killed',
          );
        const now = Date.now();
        cli.out.table(
          await handle.commands.list({ signal }),
          [
            { head: 'PID', value: ({ pid }) => pid, align: 'right' },
            { head: 'STARTED', value: ({ startedAt }) => formatAge(startedAt, now) },
            { head: 'TAG', value: ({ tag }) => tag },
            { head: 'COMMAND', value: commandLine },
          ],
          'Nothing runs in it.',
          quiet ? ({ pid }) => String(pid) : undefined,
        );
      }),
    );
}

/** What was asked for: the line of a command, or the words of another program. Pure. */
export function commandLine({ command, args }: Pick<ProcessInfo, 'command' | 'args'>): string {
  const [first, second, line, ...rest] = args;
  const isLine = command === '/bin/bash' && first === '-l' && second === '-c' && rest.length === 0;
  return isLine && line !== undefined ? line : [command, ...args].map(quote).join(' ');
}

import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { collectPairs } from '../../parse/pairs.js';
import { afterDashes } from '../../parse/shell-words.js';

interface ShellFlags {
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  keepAlive: boolean;
}

export function addShell(sandbox: Command): void {
  leaf(sandbox, 'shell <id> [command...]', 'open a shell, or another program, in a terminal of a sandbox')
    .passThroughOptions()
    .option('-w, --cwd <dir>', 'working directory')
    .option('-e, --env <NAME=value>', 'environment variable; repeatable', collectPairs)
    .option('-u, --user <name>', 'user in the sandbox')
    .option('--no-keep-alive', 'let the time to live of the sandbox end the shell')
    .addHelpText(
      'after',
      '\nEnds with the exit code of the shell. ~. at the start of a line leaves a shell that does not answer.',
    )
    .action(
      act(async (cli, id: string, command: string[], flags: ShellFlags) => {
        const { requireTerminal, runShell } = await import('./run-shell.js');
        requireTerminal(cli, id);
        const handle = await cli.sandbox(id);
        await runShell(cli, handle, { ...flags, command: afterDashes(command) });
      }),
    );
}

import type { Command as CommanderCommand } from 'commander';
import { UsageError } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';
import { collectPairs } from '../../parse/pairs.js';
import { afterDashes, toCommandLine } from '../../parse/shell-words.js';
import { act, leaf } from '../../program/leaf.js';

interface ExecFlags {
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  timeout: number;
  /** Undefined: when something is piped in. */
  stdin?: boolean;
  detach?: boolean;
  keepAlive?: boolean;
}

export function addExec(sandbox: CommanderCommand): void {
  leaf(sandbox, 'exec <id> <command...>', 'run a program in a sandbox; ends with its exit code')
    .passThroughOptions()
    .option('-w, --cwd <dir>', 'working directory')
    .option('-e, --env <NAME=value>', 'environment variable; repeatable', collectPairs)
    .option('-u, --user <name>', 'user in the sandbox')
    .option('-t, --timeout <span>', 'kill it after this time (default: never)', parseDuration, 0)
    .option('-i, --stdin', 'give it the standard input even when that is a terminal')
    .option('-n, --no-stdin', 'give it no standard input even when something is piped in')
    .option('-d, --detach', 'do not wait: print its pid')
    .option('-k, --keep-alive', 'extend the time to live of the sandbox while it runs')
    .addHelpText(
      'after',
      `
Several words are taken exactly; one alone is a line for the shell. A -- before them keeps their options apart:
  svc sandbox exec ID -- grep -c "two words" data.txt
  svc sandbox exec ID 'ls | wc -l'
  echo abc | svc sandbox exec ID -- cat`,
    )
    .action(
      act(async (cli, id: string, words: string[], flags: ExecFlags) => {
        const program = afterDashes(words);
        if (program.length === 0)
          throw new UsageError('There is no program to run.', 'svc sandbox exec ID -- COMMAND');
        const { runCommand } = await import('./run-command.js');
        const client = await cli.client();
        const { cwd, env, user, timeout, stdin, detach = false, keepAlive = false } = flags;
        const handle = await client.sandboxes.get(id, { signal: cli.signal });
        const options = { cwd, envs: env, user, timeoutMs: timeout };
        await runCommand(cli, handle, toCommandLine(program), { options, stdin, detach, keepAlive });
      }),
    );
}

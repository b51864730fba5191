import type { Command, Command as CommanderCommand } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';
import { wholeNumber } from '../../parse/number.js';
import { collectPairs } from '../../parse/pairs.js';
import { afterDashes, toCommandLine, toProgram } from '../../parse/shell-words.js';
import { followCommand } from './run-command.js';

interface ExecFlags {
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  timeout?: number;
  /** Undefined: when something is piped in. */
  stdin?: boolean;
  tty?: boolean;
  detach?: boolean;
  keepAlive?: boolean;
}

export function addExec(sandbox: CommanderCommand): void {
  leaf(sandbox, 'exec <id> <command...>', 'run a program in a sandbox; exits with its exit code')
    .passThroughOptions()
    .option('-w, --cwd <dir>', 'working directory')
    .option('-e, --env <NAME=value>', 'environment variable; repeatable', collectPairs)
    .option('-u, --user <name>', 'user in the sandbox')
    .option('-i, --stdin', 'pass standard input to it, even a terminal')
    .option('-t, --tty', 'run it in a terminal: -it for a shell')
    .option('--timeout <span>', 'kill it after this time: 90s, 10m (default: never)', parseDuration)
    .option('-n, --no-stdin', 'pass no standard input to it, even from a pipe')
    .option('-d, --detach', 'do not wait for its end; print its pid')
    .option('-k, --keep-alive', 'extend the time to live of the sandbox while it runs')
    .addHelpText(
      'after',
      `
Several words are taken exactly; one alone is a line for the shell. A -- before them separates their options:
  svc sandbox exec ID -- grep -c "two words" data.txt
  svc sandbox exec ID 'ls | wc -l'
  svc sandbox exec -it ID bash
  echo abc | svc sandbox exec ID -- cat`,
    )
    .action(
      act(async (cli, id: string, words: string[], flags: ExecFlags) => {
        const program = afterDashes(words);
        if (program.length === 0)
          throw new UsageError('There is no program to run.', 'svc sandbox exec ID -- COMMAND');
        const { cwd, env, user, timeout, stdin, detach = false, keepAlive = false } = flags;
        if (flags.tty) {
          refuseWithTerminal(cli.options.json, { '--timeout': timeout, '--detach': flags.detach });
          const { requireTerminal, runShell } = await import('./run-shell.js');
          requireTerminal(cli, id);
          const handle = await cli.sandbox(id);
          return runShell(cli, handle, { ...flags, keepAlive, command: toProgram(program) });
        }
        const { runCommand } = await import('./run-command.js');
        const handle = await cli.sandbox(id);
        const options = { cwd, envs: env, user, timeoutMs: timeout ?? 0 };
        const outcome = await runCommand(cli, handle, toCommandLine(program), {
          options,
          stdin,
          detach,
          keepAlive,
        });
        if (outcome.silent && !outcome.gaveStdin && readsCommands(program))
          cli.out.note(
            `${program[0]} got no input and ended. For a terminal: svc sandbox exec -it ${id} ${program[0]}`,
          );
      }),
    );
}

function refuseWithTerminal(json: boolean | undefined, flags: Record<string, unknown>): void {
  const given = Object.entries({ ...flags, '--json': json }).find(([, value]) => value !== undefined);
  if (given !== undefined) throw new UsageError(`${given[0]} cannot be used with --tty.`);
}

const interpreters =
  /^(?:.*\/)?(?:ba|da|z|fi|a|k)?sh$|^(?:.*\/)?(?:i?python[\d.]*|node|bun|irb|psql|sqlite3)$/;

/** Returns true for a program that, named alone, takes commands from its standard input: without one it ends at once. Pure. */
export function readsCommands(words: readonly string[]): boolean {
  return words.length === 1 && interpreters.test(words[0]!);
}

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

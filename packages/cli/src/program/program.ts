import { Command } from 'commander';
import { commonOptions, runIn } from '../cli/leaf.js';
import { processIo } from '../cli/process-io.js';
import { cliVersion } from '../cli/version.js';
import type { Io } from '../output/io.js';
import { wantsColor } from '../output/style.js';
import { chooseGroup, groups } from './groups.js';

const exitCodeHelp = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 Ctrl+C.
\`sandbox exec\` and \`sandbox shell\` end with the exit code of their program.`;

/**
 * The tree of commands. Only the group that the command line names is loaded; the others are there by name.
 * @param options `all`: load every group, for completion; `io`: the environment and streams of its commands; `onError`: gets
 * what commander would say of errors, which the caller says its own way
 */
export async function buildProgram(
  argv: readonly string[],
  options: { all?: boolean; io?: Io; onError?: (text: string) => void } = {},
): Promise<Command> {
  const { io = processIo() } = options;
  const program = new Command('svc')
    .description('Run code you did not write: sandboxes on your own machine or a hosted service.')
    .version(cliVersion, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false, sortSubcommands: false })
    .addHelpText('after', exitCodeHelp);
  for (const option of commonOptions()) program.addOption(option);
  const chosen = chooseGroup(argv);
  for (const { name, summary, load } of groups) {
    const command = program
      .command(name)
      .summary(summary)
      .description(sentence(summary))
      .enablePositionalOptions();
    if (!options.all && name !== chosen) continue;
    (await load())(command, () => buildProgram([], { all: true }));
    everyCommand(command, (each) => {
      if (each.commands.length === 0) for (const option of commonOptions()) each.addOption(option);
    });
  }
  runIn(program, io);
  everyCommand(program, (command) =>
    command.exitOverride().configureOutput({
      writeOut: (text) => io.stdout.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getOutHasColors: () => wantsColor(io.stdout, io.env),
      writeErr: options.onError ?? (() => undefined),
    }),
  );
  return program;
}

/** Walks over a command and all below it. */
export function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

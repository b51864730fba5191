import { type Command, Option } from 'commander';
import type { Io } from '../output/io.js';
import { Cli, type CommonOptions } from './cli.js';

/** Adds a command that does something. */
export function leaf(group: Command, usage: string, summary: string): Command {
  const description = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
  return group.command(usage).summary(summary).description(description);
}

/** Options of every command, given to each once it is whole; the program takes them too, before the command's name. */
export function commonOptions(): Option[] {
  return [
    new Option('--json', 'print JSON for programs'),
    new Option('--no-color', 'no colours (also: NO_COLOR=1, or not a terminal)'),
    new Option('--api-url <url>', 'platform API to use instead of SVC_API_URL'),
    new Option('--sandbox-url <url>', 'gateway to use instead of SVC_SANDBOX_URL'),
    new Option('--verbose', 'log requests and retries to standard error'),
  ];
}

/** Merges the options of a command and of those above it. `--no-color` counts wherever it stands. */
export function mergedOptions<Options extends object>(command: Command): Options & CommonOptions {
  const levels: Record<string, unknown>[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) levels.push(at.opts());
  const merged = Object.assign({}, ...levels.reverse()) as Options & CommonOptions;
  return { ...merged, color: levels.every(({ color }) => color !== false) };
}

/** The environment and streams of each program, by its root command. */
const ios = new WeakMap<Command, Io>();

/** Gives the commands of a program the environment and streams that they work with. */
export function runIn(program: Command, io: Io): void {
  ios.set(program, io);
}

function ioOf(command: Command): Io {
  let root = command;
  while (root.parent !== null) root = root.parent;
  const io = ios.get(root);
  if (io === undefined) throw new Error(`the program "${root.name()}" was given no streams`);
  return io;
}

/** Wraps what a command does: it gets its `Cli`, then its arguments and options. */
export function act<Args extends unknown[]>(
  run: (cli: Cli, ...values: Args) => Promise<void>,
): (...values: unknown[]) => Promise<void> {
  return async (...values) => {
    // commander hands over the arguments, the options, and the command.
    const command = values.at(-1) as Command;
    const options = mergedOptions(command);
    const cli = new Cli(options, ioOf(command));
    await run(cli, ...([...values.slice(0, -2), options] as Args));
  };
}

import { CommanderError } from 'commander';
import { processIo } from '../cli/process-io.js';
import { ExitWith, exitCodes, UsageError } from '../errors/cli-error.js';
import { describeError, errorLines, errorRecord } from '../errors/describe-error.js';
import type { Io } from '../output/io.js';
import { createStyle, wantsColor } from '../output/style.js';
import { printable } from '../output/table.js';
import { groups } from './groups.js';
import { buildProgram } from './program.js';

/**
 * Runs one command line and gives its exit code. Failures are reported on standard error.
 * @param io default: the environment and streams of this process
 */
export async function run(argv: readonly string[], io: Io = processIo()): Promise<number> {
  const silenced: string[] = [];
  const program = await buildProgram(argv, { io, onError: (text) => silenced.push(text) });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (thrown) {
    // Help and version were printed already.
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    if (thrown instanceof ExitWith) return thrown.exitCode;
    if (thrown instanceof CommanderError && thrown.code === 'commander.help') {
      // A group without a command: its help is the answer.
      io.stderr.write(silenced.join(''));
      return exitCodes.usage;
    }
    const error = thrown instanceof CommanderError ? usageError(thrown, argv) : thrown;
    const described = describeError(error);
    const beforeProgram = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
    if (beforeProgram.includes('--json')) io.stderr.write(`${JSON.stringify(errorRecord(described))}\n`);
    else if (described.code !== 'interrupted') report(io, described, !beforeProgram.includes('--no-color'));
    if (beforeProgram.includes('--verbose') && error instanceof Error) io.stderr.write(`${error.stack}\n`);
    return described.exitCode;
  }
}

function report(io: Io, described: ReturnType<typeof describeError>, color: boolean): void {
  const style = createStyle(color && wantsColor(io.stderr, io.env));
  const { headline, rest } = errorLines(described);
  io.stderr.write(
    `${style.red('error:')} ${printable(headline)}\n${rest.map((line) => `  ${printable(line)}\n`).join('')}`,
  );
}

function usageError(error: CommanderError, argv: readonly string[]): UsageError {
  const path = knownCommands(argv).slice(0, error.code === 'commander.unknownCommand' ? 1 : 2);
  const [first = '', ...more] = error.message.replace(/^error: /, '').split('\n');
  const message = `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?!)]$/.test(first) ? '' : '.'}`;
  return new UsageError(message, [...more, `See \`svc ${[...path, '--help'].join(' ')}\`.`].join('\n'));
}

/** The words before the first unknown one: help of a command that does not exist would fail too. */
function knownCommands(argv: readonly string[]): string[] {
  const words = argv.filter((word) => !word.startsWith('-'));
  return groups.some(({ name }) => name === words[0]) ? words : [];
}

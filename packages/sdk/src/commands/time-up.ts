import { CommandTimeoutError } from '../errors/connection-errors.js';
import type { OutputHub } from '../process/output-hub.js';
import { textOf } from './command-output.js';

/** The error of a command's readers and `wait()` when its time limit fires. */
export function timeUpOf(facts: {
  /** The command line, for the message. */
  line: string;
  timeoutMs: number;
  /** Whether the process was started here, so that the limit killed it. */
  owned: boolean;
}): (cause: unknown, output: OutputHub) => CommandTimeoutError {
  const { line, timeoutMs, owned } = facts;
  const fate = owned ? 'It was killed.' : 'It goes on; only following it ended.';
  const text = `Command ran longer than ${timeoutMs} ms: ${line}. ${fate} Raise timeoutMs, or set it to 0 for no limit.`;
  return (cause, output) =>
    new CommandTimeoutError(text, {
      option: 'timeoutMs',
      limitMs: timeoutMs,
      cause,
      stdout: textOf(output, 'stdout'),
      stderr: textOf(output, 'stderr'),
      operation: 'commands.run',
    });
}

import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { CommandTimeoutError } from '../errors/connection-errors.js';
import type { OutputHub } from '../process/output-hub.js';
import { ProcessHandle } from '../process/process-handle.js';
import type { ProcessChoice } from '../process/process-selector.js';
import { Command } from './command.js';
import { callbacksOf, textOf } from './command-output.js';
import { feed } from './feed.js';
import type {
  CommandResult,
  ConnectCommandOptions,
  RunCommandOptions,
  StartCommandOptions,
} from './options.js';
import { outputLost } from './output-lost.js';
import { toStartRequest } from './wire.js';

/** Output that is kept of commands that are not simply run to their end, bytes. */
const defaultKeepBytes = 1024 * 1024;
/** Life of a command that is run, ms. */
const defaultRunMs = 60_000;

/** Runs a command line to its end. */
export async function runCommand(
  connection: DaemonConnection,
  line: string,
  options: RunCommandOptions,
): Promise<CommandResult> {
  const {
    check,
    stdin,
    timeoutMs = defaultRunMs,
    keepOutputBytes = Number.POSITIVE_INFINITY,
    ...rest
  } = options;
  const command = await startCommand(connection, 'commands.run', line, {
    ...rest,
    timeoutMs,
    keepOutputBytes,
    stdin: stdin !== undefined,
  });
  const ended = command.wait({ check, allowLostOutput: options.allowLostOutput ?? false });
  if (stdin === undefined) return ended;
  // A program may end without having read everything: of the feeding only what the source itself throws counts.
  return Promise.race([ended, feed(command, stdin).then(() => ended)]);
}

/** Starts a command line. `operation` names the SDK call, for errors. */
export async function startCommand(
  connection: DaemonConnection,
  operation: string,
  line: string,
  options: StartCommandOptions,
): Promise<Command> {
  const callbacks = callbacksOf(options);
  const { timeoutMs = 0, user, stdin = false } = options;
  const handle = await ProcessHandle.launch({
    connection,
    context: { operation, options, user },
    open: { start: toStartRequest(line, options) },
    line,
    timeoutMs,
    keepBytes: options.keepOutputBytes ?? defaultKeepBytes,
    killOnAbort: options.killOnAbort ?? true,
    onOutput: callbacks?.onOutput,
    timeUp: timeUpOf({ line, timeoutMs, owned: true }),
    lost: (cause, output) => outputLost(line, output, Number.POSITIVE_INFINITY, cause),
  });
  const { allowLostOutput = false } = options;
  return new Command({ handle, line, allowLostOutput, hasStdin: stdin, flush: callbacks?.flush });
}

/** Follows a command that runs. */
export async function connectCommand(
  connection: DaemonConnection,
  choice: ProcessChoice,
  options: ConnectCommandOptions,
): Promise<Command> {
  const callbacks = callbacksOf(options);
  const { timeoutMs = 0 } = options;
  const line = 'tag' in choice ? choice.tag : `pid ${choice.pid}`;
  const handle = await ProcessHandle.launch({
    connection,
    context: { operation: 'commands.connect', resource: 'process', idempotent: true, options },
    open: { attach: choice, output: options.output ?? 'all' },
    timeoutMs,
    keepBytes: options.keepOutputBytes ?? defaultKeepBytes,
    killOnAbort: options.killOnAbort ?? true,
    onOutput: callbacks?.onOutput,
    timeUp: timeUpOf({ line, timeoutMs, owned: false }),
    lost: (cause, output) => outputLost(line, output, Number.POSITIVE_INFINITY, cause),
  });
  const { allowLostOutput = false } = options;
  return new Command({ handle, line, allowLostOutput, hasStdin: true, flush: callbacks?.flush });
}

/** The error of a command's readers and `wait()` when its time limit fires. */
function timeUpOf(facts: {
  /** The command line, for the message. */
  line: string;
  timeoutMs: number;
  /** True when the process was started here, so that the limit killed it. */
  owned: boolean;
}): (cause: unknown, output: OutputHub) => CommandTimeoutError {
  const { line, timeoutMs, owned } = facts;
  const fate = owned ? 'It was killed.' : 'It continues; only following it ended.';
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

import type { RequestOptions } from '../core/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import type { ProcessChoice } from '../process/process-events.js';
import { ProcessHandle } from '../process/process-handle.js';
import { type SignalName, sendSignal } from '../process/signals.js';
import { Command } from './command.js';
import { callbacksOf } from './command-output.js';
import { feed } from './feed.js';
import type {
  CommandResult,
  ConnectCommandOptions,
  ProcessInfo,
  RunCommandOptions,
  StartCommandOptions,
} from './options.js';
import { outputLost } from './output-lost.js';
import { timeUpOf } from './time-up.js';
import { checkLine, fromProcessInfo, toStartRequest } from './wire.js';

/** Output that is kept of commands that are not simply run to their end, bytes. */
const defaultKeepBytes = 1024 * 1024;
/** Life of a command that is run, ms. */
const defaultRunMs = 60_000;

/** Programs in one sandbox. Command lines are run by `/bin/bash -l -c`. */
export class Commands {
  readonly #connection: DaemonConnection;

  /** @internal */
  constructor(connection: DaemonConnection) {
    this.#connection = connection;
  }

  /**
   * Runs a command line, waits for its end and gives what it wrote.
   * @throws CommandExitError for an exit status other than 0, unless `check` is false
   * @throws CommandTimeoutError after `timeoutMs`, by default 60 s
   * @throws OutputLostError when the connection broke and output is missing, unless `allowLostOutput` is true
   * @throws SandboxGoneError when the sandbox does not run (any more)
   * @example
   * const { stdout } = await sandbox.commands.run('ls -l', { cwd: '/tmp' });
   * @wire process.Process/Start, process.Process/Connect
   */
  async run(line: string, options: RunCommandOptions = {}): Promise<CommandResult> {
    checkLine('commands.run', line, options);
    const {
      check,
      stdin,
      timeoutMs = defaultRunMs,
      keepOutputBytes = Number.POSITIVE_INFINITY,
      ...rest
    } = options;
    const command = await this.#start('commands.run', line, {
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

  /**
   * Starts a command line and gives a handle as soon as it runs.
   * @throws InvalidRequestError when the working directory does not exist
   * @throws SandboxGoneError
   * @example
   * const command = await sandbox.commands.start('python3 -u job.py', { stdin: true });
   * for await (const event of command) if (event.type === 'stdout') console.log(event.text);
   * @wire process.Process/Start, process.Process/Connect
   */
  start(line: string, options: StartCommandOptions = {}): Promise<Command> {
    return this.#start('commands.start', line, options);
  }

  /**
   * Follows a command that runs, by pid or tag: what it has written, as far as that is kept, and what it writes from now
   * on. A command that ended is found for 30 s.
   * @throws ProcessNotFoundError
   * @example
   * const command = await sandbox.commands.connect({ tag: 'worker' });
   * @wire process.Process/Connect
   */
  async connect(process: number | { tag: string }, options: ConnectCommandOptions = {}): Promise<Command> {
    const choice = choiceOf(process);
    const callbacks = callbacksOf(options);
    const { timeoutMs = 0 } = options;
    const line = 'tag' in choice ? choice.tag : `pid ${choice.pid}`;
    const handle = await ProcessHandle.launch({
      connection: this.#connection,
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

  /**
   * Lists the running processes that were started through the daemon, terminals included.
   * @example
   * for (const { pid, args } of await sandbox.commands.list()) console.log(pid, args);
   * @wire process.Process/List
   */
  async list(options: RequestOptions = {}): Promise<ProcessInfo[]> {
    const context = { operation: 'commands.list', idempotent: true, options };
    const { processes } = await this.#connection.call(context, (client, call) =>
      client.process.list({}, call),
    );
    return processes.map(fromProcessInfo);
  }

  /**
   * Kills a process by pid or tag (SIGKILL), or sends it another signal. False when there was none.
   * @example
   * await sandbox.commands.kill({ tag: 'worker' }, { killSignal: 'SIGTERM' });
   * @wire process.Process/SendSignal
   */
  kill(
    process: number | { tag: string },
    options: RequestOptions & { signal?: AbortSignal | undefined; killSignal?: SignalName | undefined } = {},
  ): Promise<boolean> {
    return sendSignal(this.#connection, choiceOf(process), options.killSignal ?? 'SIGKILL', options);
  }

  async #start(operation: string, line: string, options: StartCommandOptions): Promise<Command> {
    checkLine(operation, line, options);
    const callbacks = callbacksOf(options);
    const { timeoutMs = 0, user, stdin = false } = options;
    const handle = await ProcessHandle.launch({
      connection: this.#connection,
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
}

function choiceOf(process: number | { tag: string }): ProcessChoice {
  return typeof process === 'number' ? { pid: process } : { tag: process.tag };
}

import type { RequestOptions } from '../core/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import type { ProcessChoice } from '../process/process-selector.js';
import { type SignalName, sendSignal } from '../process/signals.js';
import type { Command } from './command.js';
import type {
  CommandResult,
  ConnectCommandOptions,
  ProcessInfo,
  RunCommandOptions,
  StartCommandOptions,
} from './options.js';
import { checkLine, fromProcessInfo } from './wire.js';

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
    const { runCommand } = await import('./launch.js');
    return runCommand(this.#connection, line, options);
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
  async start(line: string, options: StartCommandOptions = {}): Promise<Command> {
    checkLine('commands.start', line, options);
    const { startCommand } = await import('./launch.js');
    return startCommand(this.#connection, 'commands.start', line, options);
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
    const { connectCommand } = await import('./launch.js');
    return connectCommand(this.#connection, choiceOf(process), options);
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
}

function choiceOf(process: number | { tag: string }): ProcessChoice {
  return typeof process === 'number' ? { pid: process } : { tag: process.tag };
}

import {
  type CommandResult,
  ProcessHandle,
  type ProcessInfo,
  SandboxProcessManager,
  type SpawnProcessOptions,
} from '@mastra/core/workspace';
import { type Command, CommandTimeoutError, type Sandbox } from '@svc/sdk';
import { defaultSandbox } from '../default-sandbox.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';

/** Most output that is kept of each stream of a process, bytes: programs may print without end, and Mastra sets no limit for commands. */
const MOST_KEPT = 8 * 1024 * 1024;
/** Exit status of a program that took too long, as `timeout` gives it. */
const TIMED_OUT = 124;

/** Starts processes in a sandbox for Mastra. */
export class SandboxProcesses extends SandboxProcessManager {
  readonly #source: Sandbox | ToolSandboxes;

  constructor(source: Sandbox | ToolSandboxes) {
    super();
    this.#source = source;
  }

  override async spawn(line: string, options: SpawnProcessOptions = {}): Promise<ProcessHandle> {
    const {
      cwd,
      env = {},
      timeout: timeoutMs = 0,
      stdinMode = 'pipe',
      maxRetainedBytes = MOST_KEPT,
    } = options;
    const sandbox = await defaultSandbox(this.#source);
    const envs = Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const startedAt = performance.now();
    let begin: (process: SandboxProcess) => void = () => {};
    const begun = new Promise<SandboxProcess>((resolve) => {
      begin = resolve;
    });
    // Output may come before the process is known.
    const command = await sandbox.commands.start(line, {
      cwd,
      envs,
      timeoutMs,
      stdin: stdinMode === 'pipe',
      onStdout: async (text) => (await begun).emitStdout(text),
      onStderr: async (text) => (await begun).emitStderr(text),
    });
    const kept = { ...options, maxRetainedBytes: Math.min(maxRetainedBytes, MOST_KEPT) };
    const process = new SandboxProcess(command, startedAt, kept);
    begin(process);
    this._tracked.set(process.pid, process);
    return process;
  }

  override async list(): Promise<ProcessInfo[]> {
    return [...this._tracked.values()].map(({ pid, command, exitCode }) => ({
      pid,
      ...(command === undefined ? {} : { command }),
      running: exitCode === undefined,
      ...(exitCode === undefined ? {} : { exitCode }),
    }));
  }
}

class SandboxProcess extends ProcessHandle {
  readonly pid: string;
  exitCode: number | undefined;
  readonly #command: Command;
  readonly #ended: Promise<CommandResult>;
  #writer: WritableStreamDefaultWriter<Uint8Array | string> | undefined;

  constructor(command: Command, startedAt: number, options: SpawnProcessOptions) {
    super(options);
    this.pid = String(command.pid);
    this.#command = command;
    this.#ended = this.#end(startedAt);
    this.#ended.catch(() => undefined);
  }

  override wait(): Promise<CommandResult> {
    return this.#ended;
  }

  async kill(): Promise<boolean> {
    return this.exitCode === undefined && (await this.#command.kill());
  }

  async sendStdin(data: string): Promise<void> {
    this.#writer ??= this.#command.stdin.getWriter();
    await this.#writer.write(data);
  }

  override async closeStdin(): Promise<void> {
    await this.#command.closeStdin();
  }

  async #end(startedAt: number): Promise<CommandResult> {
    let [exitCode, timedOut, killed] = [TIMED_OUT, false, false];
    try {
      const result = await this.#command.wait({ check: false });
      killed = result.exitCode === -1;
      exitCode = killed ? 137 : result.exitCode;
    } catch (error) {
      if (!CommandTimeoutError.is(error)) throw error;
      timedOut = true;
    }
    this.exitCode = exitCode;
    const { stdout, stderr } = this;
    const executionTimeMs = Math.round(performance.now() - startedAt);
    return { success: exitCode === 0, exitCode, stdout, stderr, executionTimeMs, timedOut, killed };
  }
}

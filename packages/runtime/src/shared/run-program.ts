import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { TOOL_PATH } from './script-environment.js';

const OUTPUT_LIMIT_BYTES = 1024 * 1024;

export interface ProgramResult {
  /** -1 when a signal ended it. */
  exitCode: number;
  stdout: string;
  /** At most 1 MiB of each stream is kept. */
  stderr: string;
}

export interface ProgramOptions {
  cwd?: string;
  /** Besides PATH and the C locale. The server's own environment may hold keys. */
  env?: NodeJS.ProcessEnv;
  /** Longest that it may take, ms; then its whole process group is killed, and the call rejects. Default: no limit. */
  timeoutMs?: number;
  /** Fed to the program; nothing when absent. */
  stdin?: Readable;
  /** Ends the program and rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Runs a program to its end, without a shell. Rejects when it cannot be started; a bad exit is a result. */
export function runProgram(
  command: string,
  args: string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    if (options.signal?.aborted) return reject(options.signal.reason);
    const child = spawn(command, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { PATH: `${TOOL_PATH}:${process.env.PATH ?? ''}`, ...options.env, LANG: 'C', LC_ALL: 'C' },
      detached: options.timeoutMs !== undefined,
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const onAbort = () => child.kill('SIGKILL');
    let late: Error | undefined;
    const timer =
      options.timeoutMs &&
      setTimeout(() => {
        late = new Error(`${command} did not end within ${options.timeoutMs} ms.`);
        killGroup(child.pid);
      }, options.timeoutMs);
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const stdout = collect(child.stdout!);
    const stderr = collect(child.stderr!);
    let inputError: Error | undefined;
    if (options.stdin !== undefined && child.stdin !== null) {
      const { stdin } = options;
      stdin.on('error', (error) => {
        inputError = error;
        child.kill('SIGKILL');
      });
      // The program may stop reading early; its exit code explains why.
      child.stdin.on('error', () => stdin.resume());
      stdin.pipe(child.stdin);
    }
    child.on('error', (error) => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      reject(error);
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      if (options.signal?.aborted) reject(options.signal.reason);
      else if (late ?? inputError) reject(late ?? inputError);
      else resolve({ exitCode: code ?? -1, stdout: stdout(), stderr: stderr() });
    });
  });
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has exited already.
  }
}

function collect(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size < OUTPUT_LIMIT_BYTES) chunks.push(chunk);
    size += chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

import { type ChildProcess, spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { childProgram } from '@svc/support/testing/child-program';
import type { Io } from '../../src/output/io.js';
import { run } from '../../src/program/run.js';

const main = childProgram(new URL('../../src/main.ts', import.meta.url));

/** Arguments of Node that run the program. */
export const nodeArguments = [...main.options, main.file];

export interface CliRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface CliOptions {
  env?: Record<string, string>;
  /** Piped in and closed; absent: nothing, as from `/dev/null`. */
  stdin?: string | Uint8Array;
  timeoutMs?: number;
}

export interface ProcessOptions extends Omit<CliOptions, 'stdin'> {
  /** As of {@link runCli}; `open`: a pipe that never ends. */
  stdin?: string | Uint8Array | 'open';
  cwd?: string;
  /** Sees the running process. */
  started?: (child: ChildProcess, output: () => string) => void | Promise<void>;
}

/** An environment without settings of the user who runs the tests. */
export function cleanEnvironment(env: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) =>
      value !== undefined && !/^(SVC_|XDG_|NO_COLOR|FORCE_COLOR|NODE_OPTIONS|VITEST)/.test(name),
  ) as [string, string][];
  return { ...Object.fromEntries(kept), ...env };
}

/** Collects what a command line writes. */
class Collected extends Writable {
  readonly #parts: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#parts.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}

/**
 * Runs one command line to its end, in this process: a start of Node for each would be most of the time of these tests. Commands
 * that start, end or replace processes, and signals, are tried with {@link runProcess}.
 */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const { stdin, timeoutMs = 60_000 } = options;
  const [stdout, stderr] = [new Collected(), new Collected()];
  const interrupted = new AbortController();
  const io: Io = {
    env: cleanEnvironment(options.env),
    stdin: Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]),
    stdinIsPiped: stdin !== undefined,
    stdout,
    stderr,
    listen: () => interrupted.signal,
  };
  const late = new Error(`svc ${args.join(' ')} did not end in ${timeoutMs} ms`);
  const timer = setTimeout(() => interrupted.abort(late), timeoutMs);
  try {
    const code = await run(args, io);
    if (interrupted.signal.aborted) throw new Error(`${late.message}: ${stdout.text} ${stderr.text}`);
    return { code, stdout: stdout.text, stderr: stderr.text };
  } finally {
    clearTimeout(timer);
  }
}

/** Runs one command line to its end, as a user does: in a process of its own. */
export async function runProcess(args: readonly string[], options: ProcessOptions = {}): Promise<CliRun> {
  const { stdin, timeoutMs = 60_000 } = options;
  const child = spawn(process.execPath, [...nodeArguments, ...args], {
    env: cleanEnvironment(options.env),
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    cwd: options.cwd,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout!.on('data', (data: Buffer) => out.push(data));
  child.stderr!.on('data', (data: Buffer) => err.push(data));
  // A program may end before it has read everything.
  child.stdin?.on('error', () => undefined);
  if (stdin !== undefined && stdin !== 'open') child.stdin?.end(stdin);
  const text = (parts: Buffer[]) => Buffer.concat(parts).toString('utf8');
  const ended = new Promise<number | null>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`svc ${args.join(' ')} did not end in ${timeoutMs} ms: ${text(out)} ${text(err)}`));
    }, timeoutMs);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve(code);
    });
  });
  await options.started?.(child, () => text(out) + text(err));
  return { code: await ended, stdout: text(out), stderr: text(err) };
}

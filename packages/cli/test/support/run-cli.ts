import { type ChildProcess, spawn } from 'node:child_process';
import { childProgram } from '@svc/support/testing/child-program';

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
  /** Piped in and closed; `open`: a pipe that never ends; absent: nothing, as from `/dev/null`. */
  stdin?: string | Uint8Array | 'open';
  cwd?: string;
  /** Sees the running process. */
  started?: (child: ChildProcess, output: () => string) => void | Promise<void>;
  timeoutMs?: number;
}

/** An environment without settings of whoever runs the tests. */
export function cleanEnvironment(env: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) =>
      value !== undefined && !/^(SVC_|XDG_|NO_COLOR|FORCE_COLOR|NODE_OPTIONS|VITEST)/.test(name),
  ) as [string, string][];
  return { ...Object.fromEntries(kept), ...env };
}

/** Runs one command line to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const { stdin, timeoutMs = 60_000 } = options;
  const child = spawn(process.execPath, [...nodeArguments, ...args], {
    env: cleanEnvironment(options.env),
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
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

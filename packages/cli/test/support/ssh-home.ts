import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { LocalServer } from './local-server.js';
import { cleanEnvironment, nodeArguments } from './run-cli.js';

export interface ProgramRun {
  /** Null: a signal ended it. */
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

export interface ProgramOptions {
  stdin?: string | Uint8Array | NodeJS.ReadableStream | 'open';
  env?: Record<string, string>;
  cwd?: string;
  timeoutMs?: number;
  started?: (child: ReturnType<typeof spawn>) => void;
}

/** Runs a program with what it needs to find the server. */
export async function runProgram(
  local: LocalServer,
  [file, ...args]: readonly string[],
  { stdin, env, cwd, timeoutMs = 90_000, started }: ProgramOptions = {},
): Promise<ProgramRun> {
  const child = spawn(file!, args, {
    env: cleanEnvironment({ ...local.env, ...env }),
    cwd: cwd ?? local.home,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout!.on('data', (data: Buffer) => out.push(data));
  child.stderr!.on('data', (data: Buffer) => err.push(data));
  child.stdin?.on('error', () => undefined);
  if (typeof stdin === 'object' && 'pipe' in stdin) stdin.pipe(child.stdin!);
  else if (stdin !== undefined && stdin !== 'open') child.stdin!.end(stdin);
  started?.(child);
  const errors = () => Buffer.concat(err).toString('utf8');
  const code = await new Promise<number | null>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${file} ${args.join(' ')} did not end in ${timeoutMs} ms: ${errors()}`));
    }, timeoutMs);
    child.once('error', reject);
    child.once('close', (ended) => {
      clearTimeout(timer);
      resolve(ended);
    });
  });
  return { code, stdout: Buffer.concat(out), stderr: errors() };
}

/** Writes the configuration of ssh as `svc ssh-config --write` does; gives the options that make programs use it. */
export async function writeSshConfig(
  local: LocalServer,
  ...flags: string[]
): Promise<{ file: string; run: ProgramRun }> {
  const file = join(local.home, 'ssh-config');
  const run = await runProgram(local, [
    process.execPath,
    ...nodeArguments,
    'ssh-config',
    '--write',
    '--file',
    file,
    ...flags,
  ]);
  return { file, run };
}

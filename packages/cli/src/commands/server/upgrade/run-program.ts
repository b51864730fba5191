import { execFile } from 'node:child_process';
import { CliError } from '../../../errors/cli-error.js';

interface RunOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Longest run, ms. Default 15 minutes. */
  timeoutMs?: number;
  /** Its name for people, in the message of its failure. Default: its name and first word. */
  what?: string;
}

/** Runs a program to its end, and gives what it wrote. @throws {CliError} with its own words */
export function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const {
    timeoutMs = 900_000,
    env = process.env,
    what = `${file} ${args[0] ?? ''}`.trim(),
    ...more
  } = options;
  return new Promise((resolve, reject) => {
    const settings = { ...more, env: env as NodeJS.ProcessEnv, timeout: timeoutMs, maxBuffer: 2 ** 26 };
    const child = execFile(file, [...args], settings, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = `${stderr}\n${stdout}`.trim().split('\n').slice(-12).join('\n');
      const why = error.killed
        ? `did not end in ${timeoutMs / 1000} s`
        : `failed (${error.code ?? error.signal})`;
      reject(
        new CliError(`${what} ${why}.`, {
          code: 'upgrade',
          ...(said === '' ? {} : { hint: said }),
        }),
      );
    });
    child.stdin?.end();
  });
}

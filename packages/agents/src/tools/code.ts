import { randomUUID } from 'node:crypto';
import { type CommandResult, CommandTimeoutError, type Sandbox } from '@svc/sdk';
import { z } from 'zod';
import { defineSandboxTool, failure, type ToolTarget, text, user } from './define-tool.js';
import { shorten } from './shorten.js';
import type { SandboxTool, ToolAnswer } from './tool.js';

/** Output that is kept of a program, bytes: programs may print without end. */
const KEPT_BYTES = 1024 * 1024;

const LANGUAGES = {
  python: { extension: 'py', program: 'python3' },
  javascript: { extension: 'mjs', program: 'node' },
  bash: { extension: 'sh', program: 'bash' },
} as const;

const seconds = z
  .number()
  .int()
  .min(1)
  .max(3600)
  .default(60)
  .describe('Longest time it may take; then it is killed.');
const cwd = z.string().optional().describe('Working directory. Default: the home.');

/** Tools that run something and wait for its end. */
export function codeTools(target: ToolTarget): SandboxTool[] {
  const runCommand = defineSandboxTool(target, {
    name: 'run_command',
    title: 'Run a command',
    description:
      'Runs a shell command line in a sandbox and returns exit code, stdout and stderr. For a program that keeps running (a server), redirect its output and put it in the background: "nohup server > server.log 2>&1 &".',
    input: {
      command: z.string().min(1).describe('Command line for bash.'),
      cwd,
      user,
      timeout_seconds: seconds,
    },
    effects: { openWorld: true },
    run: ({ command, timeout_seconds, ...options }, { sandbox, signal }) =>
      run(sandbox, command, { ...options, timeoutMs: timeout_seconds * 1000, signal }),
  });

  const runCode = defineSandboxTool(target, {
    name: 'run_code',
    title: 'Run code',
    description:
      'Runs a program of Python, JavaScript (Node.js, ES modules) or Bash in a sandbox and returns exit code, stdout and stderr. Each run is a process of its own: keep what later runs need in files.',
    input: {
      language: z.enum(['python', 'javascript', 'bash']),
      code: z.string().min(1).describe('The whole program.'),
      cwd,
      timeout_seconds: seconds,
    },
    effects: { openWorld: true },
    async run({ language, code, cwd, timeout_seconds }, { sandbox, signal }) {
      const { extension, program } = LANGUAGES[language];
      const file = `/tmp/run-${randomUUID()}.${extension}`;
      await sandbox.files.write(file, code, { signal });
      // The shell has exited by then: what the program leaves in the background keeps nothing of the file.
      const line = `trap 'rm -f ${file}' EXIT; ${program} ${file}`;
      return run(sandbox, line, { cwd, timeoutMs: timeout_seconds * 1000, signal });
    },
  });
  return [runCommand, runCode];
}

interface RunOptions {
  readonly cwd?: string | undefined;
  readonly user?: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

async function run(sandbox: Sandbox, line: string, options: RunOptions): Promise<ToolAnswer> {
  try {
    return text(
      told(await sandbox.commands.run(line, { ...options, check: false, keepOutputBytes: KEPT_BYTES })),
    );
  } catch (error) {
    if (!CommandTimeoutError.is(error)) throw error;
    const { stdout, stderr } = error;
    const limit = `Killed: it ran longer than ${options.timeoutMs / 1000} s (timeout_seconds).`;
    return failure(told({ exitCode: -1, stdout, stderr, error: limit }));
  }
}

/** A result as a model reads it best: what there is, in this order. */
function told({ exitCode, stdout, stderr, error, truncated }: CommandResult): string {
  const parts = [`exit code: ${exitCode}${exitCode === -1 && error ? ` (${error})` : ''}`];
  if (truncated) parts.push('Of the output only the end was kept.');
  if (stdout !== '') parts.push(`stdout:\n${shorten(stdout)}`);
  if (stderr !== '') parts.push(`stderr:\n${shorten(stderr)}`);
  return parts.join('\n');
}

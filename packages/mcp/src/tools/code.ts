import { randomUUID } from 'node:crypto';
import type { McpServer } from '@modelcontextprotocol/server';
import { type CommandResult, CommandTimeoutError, type Sandbox } from '@svc/sdk';
import { z } from 'zod';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { shorten } from './shorten.js';
import { sandboxId, text, user } from './tool.js';

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
export function addCodeTools(server: McpServer, sandboxes: ToolSandboxes): void {
  server.registerTool(
    'run_command',
    {
      title: 'Run a command',
      description:
        'Runs a shell command line in a sandbox and returns exit code, stdout and stderr. For a program that goes on (a server), redirect its output and put it in the background: "nohup server > server.log 2>&1 &".',
      inputSchema: z.object({
        command: z.string().min(1).describe('Command line for bash.'),
        cwd,
        user,
        timeout_seconds: seconds,
        sandbox: sandboxId,
      }),
      annotations: { destructiveHint: true, openWorldHint: true },
    },
    async ({ command, timeout_seconds, sandbox, ...options }, context) => {
      const { signal } = context.mcpReq;
      return run(await sandboxes.use(sandbox), command, {
        ...options,
        timeoutMs: timeout_seconds * 1000,
        signal,
      });
    },
  );

  server.registerTool(
    'run_code',
    {
      title: 'Run code',
      description:
        'Runs a program of Python, JavaScript (Node.js, ES modules) or Bash in a sandbox and returns exit code, stdout and stderr. Each run is a process of its own: keep what later runs need in files.',
      inputSchema: z.object({
        language: z.enum(['python', 'javascript', 'bash']),
        code: z.string().min(1).describe('The whole program.'),
        cwd,
        timeout_seconds: seconds,
        sandbox: sandboxId,
      }),
      annotations: { destructiveHint: true, openWorldHint: true },
    },
    async ({ language, code, cwd, timeout_seconds, sandbox }, context) => {
      const { extension, program } = LANGUAGES[language];
      const target = await sandboxes.use(sandbox);
      const { signal } = context.mcpReq;
      const file = `/tmp/run-${randomUUID()}.${extension}`;
      await target.files.write(file, code, { signal });
      // The shell is gone by then: what the program leaves in the background keeps nothing of the file.
      const line = `trap 'rm -f ${file}' EXIT; ${program} ${file}`;
      return run(target, line, { cwd, timeoutMs: timeout_seconds * 1000, signal });
    },
  );
}

async function run(
  sandbox: Sandbox,
  line: string,
  options: { cwd?: string | undefined; user?: string | undefined; timeoutMs: number; signal: AbortSignal },
) {
  try {
    return told(await sandbox.commands.run(line, { ...options, check: false, keepOutputBytes: KEPT_BYTES }));
  } catch (error) {
    if (!CommandTimeoutError.is(error)) throw error;
    const { stdout, stderr } = error;
    const limit = `Killed: it ran longer than ${options.timeoutMs / 1000} s (timeout_seconds).`;
    return { ...told({ exitCode: -1, stdout, stderr, error: limit }), isError: true };
  }
}

/** A result as a model reads it best: what there is, in this order. */
function told({ exitCode, stdout, stderr, error, truncated }: CommandResult) {
  const parts = [`exit code: ${exitCode}${exitCode === -1 && error ? ` (${error})` : ''}`];
  if (truncated) parts.push('Of the output only the end was kept.');
  if (stdout !== '') parts.push(`stdout:\n${shorten(stdout)}`);
  if (stderr !== '') parts.push(`stderr:\n${shorten(stderr)}`);
  return text(parts.join('\n'));
}

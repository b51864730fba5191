import type { Shell, ShellOutputResult } from '@openai/agents';
import { CommandTimeoutError, type Sandbox } from '@svc/sdk';
import { defaultSandbox } from '../default-sandbox.js';
import type { ToolSandboxes } from '../tool-sandboxes.js';
import { shorten } from '../tools/shorten.js';

/** Longest time of a command for which the model asks no other, ms. */
const TIMEOUT_MS = 60_000;
/** Characters of each stream for which the model asks no other number. */
const MOST_OUTPUT = 16_000;
/** Output that is kept of a command, bytes. */
const KEPT_BYTES = 1024 * 1024;

/** Options for running commands. */
export interface SandboxShellOptions {
  /** Kills what runs. The SDK passes none to shells: give the one that you give to `run`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A shell for the SDK's own shell tool, which models of OpenAI are trained on: `shellTool({ shell })`. Commands of one call run one after
 * the other, each in a shell of its own, and stop at one that took too long.
 * @param source one sandbox, or the sandboxes of one agent, of which the default one is used
 * @example
 * const agent = new Agent({ name: 'Coder', tools: [shellTool({ shell: sandboxShell(sandbox) })] });
 */
export function sandboxShell(source: Sandbox | ToolSandboxes, { signal }: SandboxShellOptions = {}): Shell {
  return {
    async run({ commands, timeoutMs = TIMEOUT_MS, maxOutputLength = MOST_OUTPUT }) {
      const sandbox = await defaultSandbox(source);
      const output: ShellOutputResult[] = [];
      for (const line of commands) {
        const result = await runLine(sandbox, line, timeoutMs, signal);
        const [stdout, stderr] = [result.stdout, result.stderr].map((text) => cut(text, maxOutputLength));
        output.push({ ...result, stdout: stdout!, stderr: stderr! });
        if (result.outcome.type === 'timeout') break;
      }
      return { output, maxOutputLength };
    },
  };
}

async function runLine(
  sandbox: Sandbox,
  line: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<ShellOutputResult> {
  try {
    const options = { timeoutMs, signal, check: false, keepOutputBytes: KEPT_BYTES };
    const { stdout, stderr, exitCode } = await sandbox.commands.run(line, options);
    return { stdout, stderr, outcome: { type: 'exit', exitCode } };
  } catch (error) {
    if (!CommandTimeoutError.is(error)) throw error;
    return { stdout: error.stdout, stderr: error.stderr, outcome: { type: 'timeout' } };
  }
}

const cut = (text: string, most: number) => shorten(text, Math.ceil(most / 4), Math.floor((most * 3) / 4));

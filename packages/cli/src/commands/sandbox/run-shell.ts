import type { Sandbox } from '@svc/sdk';
import { exitCodeOf } from '@svc/ssh/exit-code';
import type { Cli } from '../../cli/cli.js';
import { CliError, ExitWith, exitCodes, UsageError } from '../../errors/cli-error.js';
import { RawTerminal } from '../../terminal/raw-terminal.js';
import { keepAlive } from './lifecycle.js';

interface ShellOptions {
  cwd?: string;
  env?: Record<string, string>;
  user?: string;
  keepAlive?: boolean;
  command?: string[];
}

/** Variables of this terminal that programs in the sandbox should know. */
const passedOn = ['TERM', 'COLORTERM'];

/** @throws {UsageError} unless keys come from a terminal and output goes to one */
export function requireTerminal({ io }: Cli, id: string): void {
  if (io.stdin.isTTY && io.stdout.isTTY) return;
  throw new UsageError(
    'A shell needs a terminal, and standard input is not one.',
    `To run something without one: svc sandbox exec ${id} -- COMMAND`,
  );
}

/** Joins this terminal to one in the sandbox until what runs in it ends, and ends with its exit code. */
export async function runShell(cli: Cli, sandbox: Sandbox, options: ShellOptions): Promise<void> {
  requireTerminal(cli, sandbox.id);
  const { signal } = cli;
  const terminal = new RawTerminal(cli.io);
  const [program, ...args] = options.command ?? [];
  const leaving = new AbortController();
  const session = await sandbox.pty.create({
    ...terminal.size,
    signal,
    cwd: options.cwd,
    user: options.user,
    envs: { ...terminalVariables(cli.env), ...options.env },
    onData: (data) => terminal.show(data),
    ...(program === undefined ? {} : { command: [program, ...args] }),
  });
  const stopKeeping = options.keepAlive === false ? undefined : keepAlive(sandbox);
  try {
    terminal.attach(session, () => leaving.abort(left));
    // The terminal may have changed between being measured and being listened to.
    await session.resize(terminal.size).catch(() => undefined);
    const end = await session.wait({ signal: leaving.signal });
    terminal.restore();
    if (session.lostBytes > 0) cli.out.warn('The connection was lost and restored; some output is missing.');
    const exitCode = exitCodeOf(end);
    if (exitCode !== exitCodes.ok) throw new ExitWith(exitCode);
  } catch (error) {
    terminal.restore();
    if (error === left) {
      await session.kill({ requestTimeoutMs: 2_000 }).catch(() => false);
      cli.out.note('\nLeft the shell.');
      throw new ExitWith(exitCodes.failure);
    }
    if (error instanceof CliError) throw error;
    // The prompt of the shell stands on this line.
    cli.io.stderr.write('\n');
    throw error;
  } finally {
    stopKeeping?.();
  }
}

const left = new Error('the shell was left');

function terminalVariables(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

import { once } from 'node:events';
import type { Command, Sandbox, StartCommandOptions } from '@svc/sdk';
import { exitCodeOf } from '@svc/ssh/exit-code';
import type { Cli } from '../../cli/cli.js';
import { ExitWith, exitCodes } from '../../errors/cli-error.js';
import type { Output } from '../../output/io.js';
import { keepAlive } from './lifecycle.js';

interface RunPlan {
  options: StartCommandOptions;
  /** True to give it the standard input; undefined: when something is piped in. */
  stdin: boolean | undefined;
  detach: boolean;
  keepAlive: boolean;
}

/** The outcome of a program that ended well. */
interface RunOutcome {
  /** It printed nothing. */
  silent: boolean;
  gaveStdin: boolean;
}

/**
 * Runs a command line, its streams joined to ours, and ends with its exit code. Ctrl+C reaches the program; when it has
 * not ended soon after, it is killed.
 * @throws {ExitWith} when the program ends with another code than 0
 */
export async function runCommand(
  cli: Cli,
  sandbox: Sandbox,
  line: string,
  plan: RunPlan,
): Promise<RunOutcome> {
  const wantsStdin = !plan.detach && (plan.stdin ?? cli.io.stdinIsPiped);
  // Of an abort later than the start the program gets a signal first, instead of being killed.
  const starting = new AbortController();
  const giveUp = () => starting.abort(cli.signal.reason);
  cli.signal.addEventListener('abort', giveUp, { once: true });
  cli.signal.throwIfAborted();
  const command = await sandbox.commands.start(line, {
    ...plan.options,
    stdin: wantsStdin,
    signal: starting.signal,
  });
  cli.signal.removeEventListener('abort', giveUp);
  if (plan.detach) {
    cli.out.result({ pid: command.pid }, () => `${command.pid}\n`);
    command.disconnect();
    return { silent: false, gaveStdin: false };
  }
  const stopKeeping = plan.keepAlive ? keepAlive(sandbox) : undefined;
  const stopInterrupting = interruptProgram(cli, sandbox, command);
  if (wantsStdin) void feedStdin(cli, command);
  try {
    const printed = await followCommand(cli, command);
    return { silent: !printed, gaveStdin: wantsStdin };
  } finally {
    stopKeeping?.();
    stopInterrupting();
  }
}

/**
 * Passes on what a program prints, or collects it for `--json`, and ends with its exit code.
 * @returns whether it printed anything
 * @throws {ExitWith} when the program ends with another code than 0
 */
export async function followCommand(cli: Cli, command: Command): Promise<boolean> {
  const captured = cli.out.json ? { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] } : undefined;
  const printed = await follow(cli, command, captured).catch(async (error: unknown) => {
    // Waiting fails in words for people: which limit fired, what became of the sandbox.
    await command.wait({ check: false });
    throw error;
  });
  const end = await command.wait({ check: false });
  const exitCode = exitCodeOf(end);
  if (captured) {
    const text = (parts: Uint8Array[]) => Buffer.concat(parts).toString('utf8');
    const { error } = end;
    cli.out.result(
      {
        exitCode,
        ...(error === undefined ? {} : { error }),
        stdout: text(captured.stdout),
        stderr: text(captured.stderr),
      },
      () => '',
    );
  }
  if (cli.signal.aborted) throw cli.signal.reason;
  if (exitCode !== exitCodes.ok) throw new ExitWith(exitCode);
  return printed;
}

/** Passes output on as it comes, or collects it. @returns whether there was any */
async function follow(
  cli: Cli,
  command: Command,
  captured: Record<'stdout' | 'stderr', Uint8Array[]> | undefined,
): Promise<boolean> {
  let printed = false;
  for await (const event of command) {
    if (event.type === 'reattached') {
      if (event.lostBytes > 0) cli.out.warn('The connection was lost and restored; output is missing here.');
      continue;
    }
    printed = true;
    if (captured) captured[event.type].push(event.data);
    else await writeTo(cli.io[event.type], event.data);
  }
  return printed;
}

/** Waits while the reader of our output is behind, so that the program is slowed down too. */
async function writeTo(stream: Output, data: Uint8Array): Promise<void> {
  if (!stream.write(data)) await once(stream, 'drain');
}

/** Passes the standard input on and closes the program's at its end. A program that stops reading is no failure. */
async function feedStdin({ io }: Cli, command: Command): Promise<void> {
  const writer = command.stdin.getWriter();
  writer.closed.catch(() => undefined);
  try {
    for await (const chunk of io.stdin) await writer.write(chunk as Uint8Array);
    await writer.close();
  } catch {
    // It ended, or closed its stdin; its end says all.
  }
}

/** Longest time that a program may take to end after Ctrl+C, ms. */
const graceMs = 3_000;

/**
 * Passes Ctrl+C on to a program and all it started, as a terminal would, and kills it when that does not end it.
 * @returns a function that stops doing so
 */
function interruptProgram(cli: Cli, sandbox: Sandbox, command: Command): () => void {
  let timer: NodeJS.Timeout | undefined;
  const interrupt = () => {
    const { pid } = command;
    const toAll = (signal: string) => `kill -s ${signal} -- -${pid} 2>/dev/null || kill -s ${signal} ${pid}`;
    const send = (signal: string) =>
      sandbox.commands.run(toAll(signal), { check: false, timeoutMs: graceMs });
    send('INT').catch(() => undefined);
    timer = setTimeout(() => {
      send('KILL').catch(() => undefined);
      command.kill().catch(() => undefined);
    }, graceMs);
    timer.unref();
  };
  if (cli.signal.aborted) interrupt();
  else cli.signal.addEventListener('abort', interrupt, { once: true });
  return () => {
    clearTimeout(timer);
    cli.signal.removeEventListener('abort', interrupt);
  };
}

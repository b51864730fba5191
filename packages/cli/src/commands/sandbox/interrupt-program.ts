import type { Command, Sandbox } from '@svc/sdk';
import type { Cli } from '../../cli/cli.js';

/** How long a program may take to end after Ctrl+C, ms. */
const graceMs = 3_000;

/**
 * Passes Ctrl+C on to a program and all it started, as a terminal would, and kills it when that does not end it.
 * @returns a function that stops doing so
 */
export function interruptProgram(cli: Cli, sandbox: Sandbox, command: Command): () => void {
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

import type { RequestOptions } from '../core/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { unlessMissing } from '../errors/unless-missing.js';
import { type ProcessChoice, selectorOf } from './process-selector.js';

/** Signals that can be sent. */
export type SignalName = 'SIGTERM' | 'SIGKILL';

/** Numbers of the signals, as the generated enum has them. */
const numbers = { SIGKILL: 9, SIGTERM: 15 } as const;

/** Sends a signal to a process. False when no such process runs. */
export async function sendSignal(
  connection: DaemonConnection,
  choice: ProcessChoice,
  signal: SignalName,
  options: RequestOptions = {},
): Promise<boolean> {
  const context = { operation: 'commands.kill', resource: 'process', idempotent: true, options } as const;
  const process = { selector: selectorOf(choice) };
  const sent = connection.call(context, (client, call) =>
    client.process.sendSignal({ process, signal: numbers[signal] }, call),
  );
  return (await unlessMissing(sent)) !== undefined;
}

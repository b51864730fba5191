import type { RequestOptions } from '../core/call-context.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { NotFoundError } from '../errors/not-found-errors.js';
import { type ProcessChoice, selectorOf } from './process-events.js';

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
  try {
    await connection.call(context, (client, call) =>
      client.process.sendSignal({ process, signal: numbers[signal] }, call),
    );
    return true;
  } catch (error) {
    if (NotFoundError.is(error)) return false;
    throw error;
  }
}

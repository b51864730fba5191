import type { PtySize, Sandbox } from '@svc/sdk';
import type { Channel } from '../connection/channel.js';
import { exitCodeOf, signalOf } from '../exit-code.js';
import { boolean, string, uint32 } from '../wire/write.js';

/** A program that runs for a session. */
export interface Running {
  /** Settles when the program has ended and its channel was notified. */
  ended: Promise<void>;
  resize(size: PtySize): void;
  /** @param name without `SIG` */
  signal(name: string): Promise<void>;
  /** The client has left. */
  hangUp(): Promise<void>;
}

/** Reports the end of a program to the client, and closes its channel. */
export function endChannel(channel: Channel, end: { exitCode: number; error?: string }): void {
  const signal = end.exitCode < 0 ? signalOf(end.error) : undefined;
  channel.eof();
  if (signal === undefined) channel.notify('exit-status', uint32(exitCodeOf(end)));
  else
    channel.notify('exit-signal', string(signal.replace(/^SIG/, '')), boolean(false), string(''), string(''));
  channel.close();
}

/** Longest time to wait for a signal to be sent, ms. */
const limitMs = 3_000;

/** Sends a signal to a process, by its user. That it has ended is no failure. @param name without `SIG` */
export async function signalProcess(
  sandbox: Sandbox,
  pid: number,
  name: string,
  user: string | undefined,
): Promise<void> {
  if (!/^[A-Z][A-Z0-9]{1,7}$/.test(name)) return;
  const line = `kill -s ${name} ${pid} 2>/dev/null`;
  await sandbox.commands.run(line, { user, check: false, timeoutMs: limitMs }).catch(() => undefined);
}

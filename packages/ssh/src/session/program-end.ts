import type { Channel } from '../connection/channel.js';
import { exitCodeOf, signalOf } from '../exit-code.js';
import { boolean, string, uint32 } from '../wire/write.js';

/** Tells the client how a program ended, and closes its channel. */
export function endChannel(channel: Channel, end: { exitCode: number; error?: string }): void {
  const signal = end.exitCode < 0 ? signalOf(end.error) : undefined;
  channel.eof();
  if (signal === undefined) channel.notify('exit-status', uint32(exitCodeOf(end)));
  else
    channel.notify('exit-signal', string(signal.replace(/^SIG/, '')), boolean(false), string(''), string(''));
  channel.close();
}

import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { Channel } from '../connection/channel.js';

/** Joins a channel with a stream: bytes and ends both ways. @returns once both directions have ended; the channel is still to be closed */
export async function join(channel: Channel, stream: Duplex): Promise<void> {
  const onClosed = () => stream.destroy();
  stream.on('error', () => undefined);
  if (channel.closed.aborted) onClosed();
  channel.closed.addEventListener('abort', onClosed, { once: true });
  const sent = send(channel, stream);
  try {
    // The other direction may continue after the end of this one.
    for await (const bytes of stream.iterator({ destroyOnReturn: false })) await channel.write(bytes);
    channel.eof();
    await sent;
  } catch {
    // One side broke off: so does the other.
  } finally {
    channel.closed.removeEventListener('abort', onClosed);
    stream.destroy();
  }
}

/** Passes the client's bytes to the stream. */
async function send(channel: Channel, stream: Duplex): Promise<void> {
  for await (const bytes of channel.input()) {
    if (stream.destroyed) return;
    if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
  }
  stream.end();
}

import type { Sandbox } from '@svc/sdk';
import type { Channel } from '../connection/channel.js';
import { join } from './join.js';
import { openStream } from './open-stream.js';
import { endChannel } from './program-end.js';
import type { Running } from './running.js';

/** Joins a channel with the SFTP server in the daemon, which speaks the protocol itself. */
export async function serveFiles(
  sandbox: Sandbox,
  channel: Channel,
  user: string | undefined,
): Promise<Running> {
  const stream = await openStream(sandbox, { path: '/sftp', protocol: 'sftp', user });
  return {
    ended: join(channel, stream).then(() => endChannel(channel, { exitCode: 0 })),
    resize: () => undefined,
    signal: async () => undefined,
    hangUp: async () => void stream.destroy(),
  };
}

import type { Command, Sandbox } from '@svc/sdk';
import type { Channel } from '../connection/channel.js';
import type { Running } from './running.js';
import { endChannel, signalProcess } from './running.js';

export interface ExecOptions {
  line: string;
  user: string | undefined;
  envs: Record<string, string>;
}

/** Runs a command line with its streams joined to a channel. */
export async function exec(sandbox: Sandbox, channel: Channel, options: ExecOptions): Promise<Running> {
  const { line, user, envs } = options;
  const command = await sandbox.commands.start(line, { user, envs, stdin: true });
  void feed(command, channel);
  return {
    ended: follow(command, channel),
    resize: () => undefined,
    signal: (name) => signalProcess(sandbox, command.pid, name, user),
    async hangUp() {
      // As with a real server the program sees the end of its input; one that does not look at it gets a signal.
      await command.closeStdin().catch(() => undefined);
      await signalProcess(sandbox, command.pid, 'HUP', user);
      command.disconnect();
    },
  };
}

async function follow(command: Command, channel: Channel): Promise<void> {
  for await (const event of command) {
    if (event.type !== 'reattached') await channel.write(event.data, event.type);
    else if (event.lostBytes > 0)
      throw new Error('The connection to the sandbox broke, and output of the program was lost.');
  }
  endChannel(channel, await command.wait({ check: false }));
}

/** Passes on what the client sends. A program that does not read it is no failure: its end says all. */
async function feed(command: Command, channel: Channel): Promise<void> {
  const writer = command.stdin.getWriter();
  writer.closed.catch(() => undefined);
  try {
    for await (const bytes of channel.input()) await writer.write(bytes);
    if (!channel.closed.aborted) await writer.close();
  } catch {
    // It ended, or the connection to it broke, which its output reports.
  }
}

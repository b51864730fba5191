import type { PtySession, PtySize, Sandbox } from '@svc/sdk';
import type { Channel } from '../connection/channel.js';
import type { Running } from './running.js';
import { endChannel, signalProcess } from './running.js';

export interface TerminalOptions {
  size: PtySize;
  /** Absent: a login shell. */
  line: string | undefined;
  user: string | undefined;
  envs: Record<string, string>;
}

/** Opens a terminal in the sandbox, joined to a channel. */
export async function openTerminal(
  sandbox: Sandbox,
  channel: Channel,
  { size, line, user, envs }: TerminalOptions,
): Promise<Running> {
  const terminal = await sandbox.pty.create({
    ...size,
    user,
    envs,
    onData: (data) => channel.write(data),
    ...(line === undefined ? {} : { command: ['/bin/bash', '-l', '-c', line] as const }),
  });
  void type(terminal, channel);
  return {
    ended: terminal.wait().then((end) => {
      if (terminal.lostBytes > 0)
        throw new Error('The connection to the sandbox broke, and output of the terminal was lost.');
      endChannel(channel, end);
    }),
    resize: (changed) => void terminal.resize(changed).catch(() => undefined),
    signal: (name) => signalProcess(sandbox, terminal.pid, name, user),
    async hangUp() {
      await signalProcess(sandbox, terminal.pid, 'HUP', user);
      terminal.disconnect();
    },
  };
}

/** Passes on what the client types. What comes after the end of the program is dropped. */
async function type(terminal: PtySession, channel: Channel): Promise<void> {
  try {
    for await (const bytes of channel.input()) await terminal.write(bytes);
  } catch {
    // Its end is reported.
  }
}

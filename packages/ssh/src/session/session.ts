import type { PtySize, Sandbox } from '@svc/sdk';
import type { Channel } from '../connection/channel.js';
import type { SessionRequest } from '../connection/requests.js';
import { exec } from './exec.js';
import { join } from './join.js';
import { openStream } from './open-stream.js';
import { endChannel, type Running } from './running.js';
import { openTerminal } from './terminal.js';

interface SessionContext {
  sandbox: Sandbox;
  /** Undefined: the sandbox's default user. */
  user: string | undefined;
  /** Something could not be done. True: the whole connection ends with that reason. */
  onFailure(error: unknown): boolean;
}

/** Variables that one session may set. */
const maxVariables = 200;

/**
 * One session of a client: first it may set variables and ask for a terminal, then it runs one thing.
 * @returns what handles its requests; whether each succeeded being the answer
 */
export function openSession(
  context: SessionContext,
  channel: Channel,
  closing: Set<Promise<void>>,
): (request: SessionRequest) => boolean {
  const { sandbox, user } = context;
  const envs: Record<string, string> = {
    SSH_CONNECTION: '127.0.0.1 0 127.0.0.1 22',
    SSH_CLIENT: '127.0.0.1 0 22',
  };
  let size: { cols: number; rows: number } | undefined;
  let running: Promise<Running> | undefined;

  const start = (launch: () => Promise<Running>): boolean => {
    if (running !== undefined) return false;
    running = launch();
    running.then((program) => program.ended).catch(fail);
    channel.closed.addEventListener('abort', () => {
      const hungUp = running!.then((program) => program.hangUp()).catch(() => undefined);
      closing.add(hungUp);
      void hungUp.finally(() => closing.delete(hungUp));
    });
    return true;
  };
  const fail = async (error: unknown): Promise<void> => {
    if (channel.closed.aborted || context.onFailure(error)) return;
    const text = error instanceof Error ? error.message : String(error);
    await channel.write(Buffer.from(`svc: ${text}\r\n`), 'stderr');
    endChannel(channel, { exitCode: 255 });
  };

  return (request) => {
    switch (request.type) {
      case 'env':
        if (running !== undefined || Object.keys(envs).length >= maxVariables) return false;
        if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(request.name) || request.value.includes('\0')) return false;
        envs[request.name] = request.value;
        return true;
      case 'pty-req':
        if (running !== undefined) return false;
        size = terminalSize(request);
        if (request.term !== '') envs.TERM = request.term;
        return true;
      case 'window-change':
        void running?.then((program) => program.resize(terminalSize(request))).catch(() => undefined);
        return true;
      case 'signal':
        void running?.then((program) => program.signal(request.name)).catch(() => undefined);
        return true;
      case 'shell':
      case 'exec': {
        const line = request.type === 'exec' ? request.command : undefined;
        if (size !== undefined) {
          const terminal = { size, line, user, envs };
          return start(() => openTerminal(sandbox, channel, terminal));
        }
        // Without a terminal a shell reads its commands from its input.
        return start(() => exec(sandbox, channel, { line: line ?? 'exec /bin/bash', user, envs }));
      }
      case 'subsystem':
        return request.name === 'sftp' && start(() => serveFiles(sandbox, channel, user));
      default:
        return false;
    }
  };
}

/** Joins a channel with the SFTP server in the daemon, which speaks the protocol itself. */
async function serveFiles(sandbox: Sandbox, channel: Channel, user: string | undefined): Promise<Running> {
  const stream = await openStream(sandbox, { path: '/sftp', protocol: 'sftp', user });
  return {
    ended: join(channel, stream).then(() => endChannel(channel, { exitCode: 0 })),
    resize: () => undefined,
    signal: async () => undefined,
    hangUp: async () => void stream.destroy(),
  };
}

/** A client without a terminal of its own sends 0. Larger than any screen is a mistake. Pure. */
function terminalSize({ cols, rows }: PtySize): PtySize {
  return { cols: Math.min(cols || 80, 1000), rows: Math.min(rows || 24, 1000) };
}

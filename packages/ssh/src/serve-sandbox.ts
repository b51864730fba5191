import type { Readable, Writable } from 'node:stream';
import { AuthenticationError, type Sandbox, SandboxGoneError } from '@svc/sdk';
import type { ForwardTarget } from './connection/requests.js';
import { NotAllowedError, serveConnection } from './connection/serve-connection.js';
import { join } from './session/join.js';
import { openStream } from './session/open-stream.js';
import { openSession } from './session/session.js';
import type { HostKey } from './transport/host-key.js';
import { Transport } from './transport/transport.js';
import { ProtocolError } from './wire/protocol-error.js';

/** User name that stands for the sandbox's default user, under any name that this one has. */
export const defaultUser = 'default';

export interface ServeOptions {
  sandbox: Sandbox;
  hostKey: HostKey;
  input: Readable;
  output: Writable;
  version: string;
  /** Aborted: the user wants this to end. */
  signal: AbortSignal;
  /** Something that the user should know although the connection continues. */
  onNote(text: string): void;
}

/**
 * Serves one SSH client that speaks on two streams, with a sandbox as the machine that it reaches. Ends when the client leaves.
 * @throws why it ended otherwise: ProtocolError, NotAllowedError, SandboxGoneError, or the reason of the signal
 */
export async function serveSandbox(options: ServeOptions): Promise<void> {
  const { sandbox, hostKey, input, output, version, signal, onNote } = options;
  const transport = new Transport({
    input,
    output,
    hostKey,
    software: `svc_${version.replaceAll('-', '_')}`,
  });
  const closing = new Set<Promise<void>>();
  let user: string | undefined;
  let failure: unknown;
  const end = (error: unknown) => {
    failure ??= error;
    input.destroy();
  };
  const onAbort = () => end(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  output.on('error', () => input.destroy());
  const onFailure = (error: unknown) => {
    const gone = SandboxGoneError.is(error);
    if (gone) end(error);
    return gone;
  };
  try {
    await serveConnection(transport, {
      async authenticate(name) {
        user = name === defaultUser ? undefined : name;
        return checkUser(sandbox, user);
      },
      openSession: (channel) => openSession({ sandbox, user, onFailure }, channel, closing),
      openForward: async (to) => {
        const stream = await openStream(sandbox, { path: tunnelPath(to), protocol: 'tcp' });
        return (channel) => void join(channel, stream).then(() => channel.close());
      },
      refused: (what) => onNote(`${what} is not supported.`),
    });
  } catch (error) {
    failure ??= error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  if (failure !== undefined) {
    const reason =
      failure instanceof ProtocolError
        ? 'protocolError'
        : failure instanceof NotAllowedError
          ? 'noMoreAuthMethods'
          : 'byApplication';
    transport.disconnect(reason, failure instanceof Error ? failure.message : String(failure));
  }
  output.end();
  await Promise.allSettled(closing);
  if (failure !== undefined) throw failure;
}

/** Returns true when the sandbox has such a user. */
async function checkUser(
  sandbox: Sandbox,
  user: string | undefined,
): Promise<{ ok: true } | { ok: false; why: string }> {
  try {
    await sandbox.files.exists('/', { user });
    return { ok: true };
  } catch (error) {
    if (user !== undefined && AuthenticationError.is(error))
      return {
        ok: false,
        why: `There is no user ${JSON.stringify(user)} in the sandbox. For its default user: ${defaultUser}@...`,
      };
    throw error;
  }
}

/** The daemon's route to something that listens, as seen from inside the sandbox. Pure. */
function tunnelPath(to: ForwardTarget): string {
  const query = 'socketPath' in to ? { socket: to.socketPath } : { host: to.host, port: String(to.port) };
  return `/tunnel?${new URLSearchParams(query)}`;
}

import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Dial } from '../../shared/dial.js';

/** The longest that a daemon is waited for. One that is silent for longer is stored as it stands. */
const SETTLE_TIMEOUT_MS = 3_000;

/**
 * Waits until a daemon has dealt with the end of what was connected to it before: it answers twice over one connection, and between two
 * answers it handles everything else that came in. A time alone is too short on a busy machine. Never rejects.
 * @returns holds the connection, which must not end while the programs run (see `gvisor_store`), until it is disposed of.
 */
export async function settleDaemon(dial: Dial, timeoutMs = SETTLE_TIMEOUT_MS): Promise<Disposable> {
  const signal = AbortSignal.timeout(timeoutMs);
  let socket: Socket | undefined;
  try {
    const held = await dial(signal);
    socket = held;
    held.on('error', () => undefined);
    const agent = Object.assign(new Agent({ keepAlive: true }), { createConnection: () => held });
    for (let answers = 0; answers < 2; answers += 1) {
      const asked = request({ path: '/health', agent, signal });
      // A late failure, when nobody waits any more, must not end this process.
      asked.on('error', () => undefined);
      const [answer] = (await once(asked.end(), 'response', { signal })) as [IncomingMessage];
      await once(answer.resume(), 'end', { signal });
    }
  } catch {
    // It does not run, does not answer, or answers nonsense: a sandbox is stored regardless of its tenant's changes to the daemon.
  }
  return { [Symbol.dispose]: () => socket?.destroy() };
}

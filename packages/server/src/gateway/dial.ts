import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Route } from './contract.js';
import { pause } from './waits.js';

/** The sandbox could not be connected to. `ended`: its instance ended; `closed`: nothing listens on the port. */
export class DialFailure extends Error {
  override readonly name = 'DialFailure';
  readonly kind: 'ended' | 'closed';

  constructor(kind: 'ended' | 'closed', cause: unknown) {
    super(kind === 'ended' ? 'the sandbox has ended' : 'the port is not open', { cause });
    this.kind = kind;
  }
}

export interface DialOptions {
  budgetMs: number;
  timeoutMs: number;
  now: () => number;
  /** Ends the tries: the sandbox is being closed, or nobody waits any more. */
  signal: AbortSignal;
  onTry: (attempt: number) => void;
}

const attempts = 5;

/**
 * Connects to a port of a sandbox: up to five tries, 100, 200, 300 and 400 ms apart, none begun after the budget.
 * @throws {DialFailure}
 */
export async function dialWithRetry(route: Route, port: number, options: DialOptions): Promise<Duplex> {
  const { budgetMs, timeoutMs, now, signal, onTry } = options;
  const startedAt = now();
  for (let attempt = 1; ; attempt++) {
    onTry(attempt);
    // Not AbortSignal.any: the pool's signal lives as long as the sandbox and would remember every dial.
    const ending = new AbortController();
    const onAbort = () => ending.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => ending.abort(new Error('the dial timed out')), timeoutMs);
    try {
      const stream = await route.dial(port, ending.signal);
      if (!signal.aborted) return stream;
      stream.destroy();
      throw signal.reason;
    } catch (error) {
      if ((error as { code?: unknown } | undefined)?.code === 'instance_gone')
        throw new DialFailure('ended', error);
      const waitMs = attempt * 100;
      const late = now() - startedAt + waitMs > budgetMs;
      if (ending.signal.aborted || late || attempt >= attempts) throw new DialFailure('closed', error);
      await pause(waitMs, signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }
}

/** Speaks TLS over a dialed connection. The certificate is not verified: the sandbox is reached through the host alone. */
export function secure(stream: Duplex, servername: string | undefined): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const tls = connectTls({
      socket: stream,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      ...(servername === undefined ? {} : { servername }),
    });
    const onClose = () => reject(new Error('the connection closed during the TLS handshake'));
    tls.once('error', reject);
    tls.once('close', onClose);
    tls.once('secureConnect', () => {
      tls.off('error', reject);
      tls.off('close', onClose);
      resolve(tls);
    });
  });
}

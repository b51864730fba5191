import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { anyOf } from '#support/any-of';
import type { GatewayDeps, Route } from './contract.js';

/** The sandbox could not be connected to. `ended`: its instance ended; `closed`: nothing listens on the port. */
export class DialFailure extends Error {
  override readonly name = 'DialFailure';
  readonly kind: 'ended' | 'closed';

  constructor(kind: 'ended' | 'closed', cause: unknown) {
    super(kind === 'ended' ? 'the sandbox has ended' : 'the port is not open', { cause });
    this.kind = kind;
  }
}

interface DialOptions {
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

/** Waits, or less when the signal fires. Never rejects. */
export const pause = (durationMs: number, signal?: AbortSignal): Promise<void> =>
  sleep(durationMs, undefined, { signal }).catch(() => undefined);

/** Waits until a sandbox is out of transition, or the signal fires. Returns its route as it then is. */
export async function waitUntilSettled(
  deps: Pick<GatewayDeps, 'findRoute' | 'settled'>,
  sandboxId: string,
  signal: AbortSignal,
): Promise<Route | undefined> {
  for (;;) {
    if (deps.settled) {
      const stopped = new AbortController();
      await Promise.race([deps.settled(sandboxId, signal), pause(2 ** 30, anyOf([signal, stopped.signal]))])
        .catch(() => undefined)
        .finally(() => stopped.abort());
    }
    const route = await deps.findRoute(sandboxId);
    if (route?.state !== 'transition' || signal.aborted) return route;
    await pause(50, signal);
  }
}

import type { RequestOptions } from '../core/call-context.js';
import type { Fetch } from '../core/middleware.js';

/** Longest wait for the answer of a health probe, ms. */
const probeLimitMs = 5_000;

/** Sends plain HTTP to one sandbox's daemon. */
interface DaemonHttp {
  http<T>(
    context: { operation: string; options: RequestOptions },
    work: (fetch: Fetch, baseUrl: string) => Promise<T>,
  ): Promise<T>;
}

/**
 * Asks the daemon's health route: `running` for 2xx, `gone` for the gateway's 502, `unknown` for everything else,
 * no answer included. Throws only what the caller's signal was aborted with.
 *
 * @wire GET /health
 */
export async function probeHealth(
  connection: DaemonHttp,
  options: RequestOptions,
): Promise<'running' | 'gone' | 'unknown'> {
  const requestTimeoutMs = options.requestTimeoutMs ?? probeLimitMs;
  const context = {
    operation: 'sandbox.isRunning',
    options: { ...options, requestTimeoutMs, maxRetries: 0 },
  };
  try {
    const response = await connection.http(context, (fetch, baseUrl) =>
      fetch(new Request(`${baseUrl}/health`)),
    );
    // Not awaited: where a middleware cloned the answer, cancelling waits for the clone.
    response.body?.cancel().catch(() => {});
    if (response.status === 502) return 'gone';
    return response.ok ? 'running' : 'unknown';
  } catch {
    options.signal?.throwIfAborted();
    return 'unknown';
  }
}

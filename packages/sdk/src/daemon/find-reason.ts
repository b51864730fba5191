import type { ClientCore } from '../calls/client-core.js';

/** Longest wait for the answer, ms. */
const limitMs = 5_000;

/**
 * Asks the platform, if that can be asked, whether a sandbox that does not run is paused. Throws only what the signal was
 * aborted with.
 *
 * @wire getSandbox
 */
export async function findReason(
  { config, platform }: ClientCore,
  sandboxID: string,
  signal: AbortSignal | undefined,
): Promise<'paused' | 'gone'> {
  if (config.apiKey === undefined) return 'gone';
  const options = { signal, requestTimeoutMs: limitMs, maxRetries: 0 };
  try {
    const { state } = await platform.call({ operation: 'sandbox.isRunning', options }, (client, fetch) =>
      client.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } }, fetch }),
    );
    return state === 'paused' ? 'paused' : 'gone';
  } catch {
    signal?.throwIfAborted();
    return 'gone';
  }
}

import type { Sandbox } from '@svc/sdk';

/** Life that is always left while somebody works in the sandbox, ms. */
const leftMs = 120_000;
const everyMs = 30_000;

/**
 * Keeps a sandbox from reaching the end of its time to live. A failure is left to what is being done in it.
 * @returns a function that stops doing so; what is left then is at most two minutes more than before
 */
export function keepAlive(sandbox: Sandbox): () => void {
  const extend = () => void sandbox.refresh(leftMs).catch(() => undefined);
  extend();
  const timer = setInterval(extend, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** A timer of more fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Waits; rejects with the signal's reason when it aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(Math.max(0, ms), LONGEST_MS),
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

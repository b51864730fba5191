/** Fails when the signal aborts before the promise settles. What comes too late is handed to `late`. */
export async function within<T>(
  signal: AbortSignal,
  work: Promise<T>,
  late?: (value: T) => void,
): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
  });
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, aborted]);
  } catch (error) {
    if (signal.aborted) work.then(late, () => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

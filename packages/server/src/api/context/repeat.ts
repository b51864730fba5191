/**
 * Repeats work `intervalMs` after it last ended, until stopped. A failure is reported and forgotten.
 * @returns a function that stops it and settles when the last round has ended.
 */
export function repeat(
  intervalMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<unknown> = Promise.resolve();
  const next = () => {
    if (stopped) return;
    timer = setTimeout(() => {
      round = Promise.resolve().then(work).catch(onError).finally(next);
    }, intervalMs);
    timer.unref();
  };
  next();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await round;
  };
}

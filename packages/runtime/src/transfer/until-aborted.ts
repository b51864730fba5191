/**
 * Reads a stream until a signal aborts, also while it gives nothing: a stream that is destroyed meanwhile notifies nobody who waits
 * for its next piece. The owner of the stream ends it.
 */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const pieces = source[Symbol.asyncIterator]();
  for (;;) {
    // A race for each piece: one promise in all of them would keep every piece until it settles.
    const { value, done } = await raceAbort(pieces.next(), signal);
    if (done === true) return;
    yield value;
  }
}

/** Settles like `promise`, but rejects with the signal's reason as soon as it aborts. The work itself continues. */
function raceAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  if (signal.aborted) {
    promise.catch(() => undefined);
    return Promise.reject(signal.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

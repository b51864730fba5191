/**
 * One signal that follows several, until it is released: `AbortSignal.any` would stay with the longest-lived of them for as
 * long as that lives.
 */
export function linkSignals(sources: readonly (AbortSignal | null | undefined)[]) {
  const controller = new AbortController();
  const onAbort = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  const followed = sources.filter((source) => source !== null && source !== undefined);
  for (const source of followed) {
    if (source.aborted) controller.abort(source.reason);
    else source.addEventListener('abort', onAbort);
  }
  return {
    signal: controller.signal,
    abort: (reason: unknown) => controller.abort(reason),
    release() {
      for (const source of followed) source.removeEventListener('abort', onAbort);
    },
  };
}

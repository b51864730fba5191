/** By what they hold together: a signal's sources live as long as it does. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * As `AbortSignal.any`, which in Node before 22.15 releases its sources: a time limit that nothing else refers to
 * (`AbortSignal.timeout`) then ends with the next garbage collection, and never fires.
 */
export function anyOf(signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  sources.set(any, signals);
  return any;
}

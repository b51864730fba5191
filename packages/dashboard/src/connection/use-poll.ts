import { useEffect, useRef, useState } from 'preact/hooks';

/** A look that takes long makes a pause that is this many times as long, ms: a slow server is asked less often. */
const PATIENCE = 5;
const LONGEST_PAUSE_MS = 15_000;

/** The last value, and the reason why it may be old. */
export interface Polled<Value> {
  value: Value | undefined;
  /** Why the last look failed; `value` is that of the last one that did not. */
  error: unknown;
  /** Looks at once. */
  reload: () => void;
}

/**
 * Looks again and again while the page is seen. A failed look keeps what is known.
 * @param key what is looked at: another one forgets what is known
 * @param everyMs least pause between two looks; 0: look once
 */
export function usePoll<Value>(
  key: string,
  everyMs: number,
  look: (signal: AbortSignal) => Promise<Value>,
): Polled<Value> {
  const [known, setKnown] = useState<{ key: string; value: Value | undefined; error: unknown }>({
    key,
    value: undefined,
    error: undefined,
  });
  const latest = useRef(look);
  latest.current = look;
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    const over = new AbortController();
    let timer = 0;
    let looking = false;
    let once = false;
    const run = async () => {
      clearTimeout(timer);
      // An answer under way may have been read before the change for which somebody looks again.
      once = looking;
      if (looking) return;
      looking = true;
      const begun = performance.now();
      try {
        const value = await latest.current(over.signal);
        if (!over.signal.aborted) setKnown({ key, value, error: undefined });
      } catch (error) {
        if (!over.signal.aborted)
          setKnown((before) => ({ key, value: before.key === key ? before.value : undefined, error }));
      }
      looking = false;
      if (over.signal.aborted) return;
      const pauseMs = Math.min(PATIENCE * (performance.now() - begun), LONGEST_PAUSE_MS);
      if (once) void run();
      else if (everyMs > 0) timer = window.setTimeout(next, Math.max(everyMs, pauseMs));
    };
    const next = () => {
      if (!document.hidden) void run();
    };
    again.current = () => void run();
    document.addEventListener('visibilitychange', next);
    void run();
    return () => {
      over.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', next);
    };
  }, [key, everyMs]);
  const current = known.key === key;
  return {
    value: current ? known.value : undefined,
    error: current ? known.error : undefined,
    reload: () => again.current(),
  };
}

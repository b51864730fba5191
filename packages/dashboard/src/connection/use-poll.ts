import { useEffect, useRef, useState } from 'preact/hooks';

/** What is known, and why it may be old. */
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
 * @param everyMs pause between two looks; 0: look once
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
    const run = async () => {
      clearTimeout(timer);
      if (looking) return;
      looking = true;
      try {
        const value = await latest.current(over.signal);
        if (!over.signal.aborted) setKnown({ key, value, error: undefined });
      } catch (error) {
        if (!over.signal.aborted)
          setKnown((before) => ({ key, value: before.key === key ? before.value : undefined, error }));
      }
      looking = false;
      if (everyMs > 0 && !over.signal.aborted) timer = window.setTimeout(next, everyMs);
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

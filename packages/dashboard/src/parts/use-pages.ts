import { useEffect, useState } from 'preact/hooks';
import { type Polled, usePoll } from '../connection/use-poll.js';

interface PageOf<Item> {
  items: Item[];
  nextToken: string | undefined;
  total?: number | undefined;
}

/**
 * One page of a list that is read by cursor, looked at again and again, and the way to the others.
 * @param everyMs as of `usePoll`, or what it is for each page, the first being 0
 */
export function usePages<Item>(
  key: string,
  everyMs: number | ((page: number) => number),
  read: (nextToken: string | undefined, signal: AbortSignal) => PromiseLike<PageOf<Item>>,
): Polled<PageOf<Item>> & { page: number; previous: () => void; next: () => void } {
  const [place, setPlace] = useState<{ key: string; tokens: string[] }>({ key, tokens: [] });
  const tokens = place.key === key ? place.tokens : [];
  const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(tokens.length);
  const polled = usePoll(`${key} ${tokens.at(-1) ?? ''}`, pauseMs, async (signal) =>
    read(tokens.at(-1), signal),
  );
  useEffect(() => {
    if (tokens.length > 0) scrollTo(0, 0);
  }, [tokens.length]);
  return {
    ...polled,
    page: tokens.length,
    previous: () => setPlace({ key, tokens: tokens.slice(0, -1) }),
    next: () => {
      const token = polled.value?.nextToken;
      if (token !== undefined) setPlace({ key, tokens: [...tokens, token] });
    },
  };
}

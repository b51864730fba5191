import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * Which rows of a table are on the screen, or almost.
 * @param keys keys of its rows, joined: other rows are looked for when they change
 * @param onCome told when rows come into sight
 * @returns the keys of those that are now
 */
export function useSeenRows(
  body: RefObject<HTMLTableSectionElement>,
  keys: string,
  onCome: () => void,
): () => ReadonlySet<string> {
  const seen = useRef(new Set<string>());
  const latest = useRef(onCome);
  latest.current = onCome;
  useEffect(() => {
    const rows = new Set<string>();
    seen.current = rows;
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const key = (target as HTMLElement).dataset.key!;
          if (isIntersecting) rows.add(key);
          else rows.delete(key);
        }
        if (entries.some(({ isIntersecting }) => isIntersecting)) latest.current();
      },
      // A flick of the wheel should find them there.
      { rootMargin: '300px 0px' },
    );
    for (const row of body.current?.querySelectorAll('tr[data-key]') ?? []) observer.observe(row);
    return () => observer.disconnect();
  }, [keys]);
  return () => seen.current;
}

import type { SandboxInfo, SandboxMetrics } from '@svc/sdk';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clientOf } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';

/** The service takes a sample of each sandbox about every five seconds. */
const LOOK_MS = 10_000;
/** Time for which scrolling rests before rows that came into sight are asked for, ms. */
const REST_MS = 150;

/** The latest sample of each sandbox that runs and whose row is seen. */
export function useSamples(
  team: string,
  rows: readonly SandboxInfo[],
  body: RefObject<HTMLTableSectionElement>,
): ReadonlyMap<string, SandboxMetrics> {
  const known = useRef(new Map<string, SandboxMetrics>());
  const timer = useRef(0);
  const keys = rows.map(({ sandboxId }) => sandboxId).join(' ');
  const seen = useSeenRows(body, keys, () => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(
      () => wanted().some((id) => !known.current.has(id)) && reload(),
      REST_MS,
    );
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  const wanted = () =>
    rows
      .filter(({ sandboxId, state }) => state === 'running' && seen().has(sandboxId))
      .map(({ sandboxId }) => sandboxId);
  const { value, reload } = usePoll(`samples ${team}`, LOOK_MS, async (signal) => {
    const ids = wanted();
    const fresh = ids.length === 0 ? {} : await clientOf(team).sandboxes.metrics(ids, { signal });
    // A sandbox that is not on this page any more is forgotten.
    const kept = [...known.current].filter(([id]) => rows.some(({ sandboxId }) => sandboxId === id));
    known.current = new Map([...kept, ...Object.entries(fresh)]);
    return known.current;
  });
  return value ?? known.current;
}

/**
 * Which rows of a table are on the screen, or almost.
 * @param keys keys of its rows, joined: other rows are looked for when they change
 * @param onCome called when rows come into sight
 * @returns the keys of those that are now
 */
function useSeenRows(
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

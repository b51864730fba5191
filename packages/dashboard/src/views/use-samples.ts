import type { SandboxInfo, SandboxMetrics } from '@svc/sdk';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clientOf } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';
import { useSeenRows } from './use-seen-rows.js';

/** The service takes a sample of each sandbox about every five seconds. */
const LOOK_MS = 10_000;
/** How long scrolling rests before rows that came into sight are asked for, ms. */
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
    // What is not on this page any more is forgotten.
    const kept = [...known.current].filter(([id]) => rows.some(({ sandboxId }) => sandboxId === id));
    known.current = new Map([...kept, ...Object.entries(fresh)]);
    return known.current;
  });
  return value ?? known.current;
}

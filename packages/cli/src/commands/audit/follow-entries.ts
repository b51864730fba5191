import type { AuditEntry, AuditFilter } from '@svc/sdk/operator';

/** How long an entry may wait for its outcome before it is shown without, ms. */
const UNFINISHED_MS = 120_000;
/** How much later than its time an entry may be there to be read, ms: servers write side by side. */
const LATE_MS = 10_000;

export interface FollowOptions {
  /** Entries that fit, oldest first. */
  read(filter: AuditFilter): AsyncIterable<AuditEntry>;
  filter: AuditFilter;
  /** Entries to begin with, oldest first. */
  latest: readonly AuditEntry[];
  /** Waits until it is time to look again; false: no more. */
  wait(): Promise<boolean>;
  /** Monotonic clock, ms. */
  now(): number;
}

/**
 * Gives each entry once it has its outcome, or has waited long for it. Looks again and again until `wait` says no more. The
 * wanted outcome is looked at here: by it the service finds nothing that is under way.
 */
export async function* followEntries(options: FollowOptions): AsyncGenerator<AuditEntry> {
  const { outcome, ...asked } = options.filter;
  /** Entries that were given, by id, and their times. */
  const given = new Map<string, number>();
  /** When entries without an outcome were first seen. */
  const pending = new Map<string, { at: number; since: number }>();
  let newestAt = 0;
  const ready = (entry: AuditEntry): boolean => {
    if (given.has(entry.entryId)) return false;
    const at = entry.at.getTime();
    newestAt = Math.max(newestAt, at);
    const known = pending.get(entry.entryId) ?? { at, since: options.now() };
    if (entry.outcome === 'unfinished' && options.now() - known.since < UNFINISHED_MS) {
      pending.set(entry.entryId, known);
      return false;
    }
    pending.delete(entry.entryId);
    given.set(entry.entryId, at);
    return outcome === undefined || entry.outcome === outcome;
  };
  for (const entry of options.latest) if (ready(entry)) yield entry;
  const begunAt = newestAt;
  while (await options.wait()) {
    const from = Math.min(
      // What was there before the first look is not asked for.
      Math.max(newestAt - LATE_MS, begunAt),
      ...[...pending.values()].map(({ at }) => at),
    );
    for (const [id, at] of given) if (at < from) given.delete(id);
    const filter = { ...asked, ...(newestAt === 0 ? {} : { from: new Date(from) }) };
    for await (const entry of options.read(filter)) if (ready(entry)) yield entry;
  }
}

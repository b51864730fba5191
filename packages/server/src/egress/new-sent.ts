import type { SentBytes } from '@svc/runtime';

/** Tells what sandboxes sent since the last time. The first time tells nothing: that was before this server started. */
export class NewSent {
  #seen: Map<string, number> | undefined;

  /** @param counts all that there are: what is not among them is over, and counts from nothing when it comes again */
  take(counts: readonly SentBytes[]): SentBytes[] {
    const before = this.#seen;
    this.#seen = new Map(counts.map(({ instanceId, bytes }) => [instanceId, bytes]));
    if (before === undefined) return [];
    return counts.flatMap(({ instanceId, bytes }) => {
      const known = before.get(instanceId) ?? 0;
      const added = bytes < known ? bytes : bytes - known;
      return added === 0 ? [] : [{ instanceId, bytes: added }];
    });
  }
}

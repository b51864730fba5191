import type { SentBytes } from '@svc/runtime';
import { added } from './forwarded-delta.js';

/** Reports the bytes that sandboxes sent since the last reading. The first one reports nothing: those were before this server started. */
export class SentDelta {
  #seen: Map<string, number> | undefined;

  /** @param counts all that there are: what is not among them is over, and counts from nothing when it comes again */
  take(counts: readonly SentBytes[]): SentBytes[] {
    const before = this.#seen;
    this.#seen = new Map(counts.map(({ instanceId, bytes }) => [instanceId, bytes]));
    if (before === undefined) return [];
    return counts.flatMap(({ instanceId, bytes }) => {
      const grown = added(before.get(instanceId) ?? 0, bytes);
      return grown === 0 ? [] : [{ instanceId, bytes: grown }];
    });
  }
}

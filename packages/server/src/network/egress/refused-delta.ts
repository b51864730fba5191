import type { EgressReport } from '@svc/egress';
import type { RefusedPackets } from '@svc/runtime';

/**
 * Turns the counts of a driver into reports of what is new since the last reading. The first one reports nothing: that was
 * before this server started.
 */
export class RefusedDelta {
  #seen: Map<string, number> | undefined;

  /** @param counts all that there are: what is not among them is over, and counts from nothing when it comes again */
  take(counts: readonly RefusedPackets[], at: Date): EgressReport[] {
    const before = this.#seen;
    const seen = new Map(counts.map((each) => [`${each.instanceId} ${each.reason}`, each.packets]));
    this.#seen = seen;
    if (before === undefined) return [];
    return counts.flatMap(({ instanceId, reason, packets }) => {
      const known = before.get(`${instanceId} ${reason}`) ?? 0;
      const attempts = packets < known ? packets : packets - known;
      if (attempts === 0) return [];
      const report = { sandboxId: instanceId, port: 0, outcome: 'denied', rule: reason } as const;
      return [{ ...report, attempts, bytesSent: 0, bytesReceived: 0, at }];
    });
  }
}

/** Lets a report of one sandbox and rule through in so many ms; its attempts are added to the next that goes through. */
export class RareReports {
  readonly #everyMs: number;
  readonly #reported = new Map<string, { atMs: number; waiting: number }>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  pick(reports: readonly EgressReport[], nowMs: number): EgressReport[] {
    for (const [key, { atMs, waiting }] of this.#reported)
      if (waiting === 0 && nowMs - atMs >= this.#everyMs) this.#reported.delete(key);
    return reports.flatMap((report) => {
      const key = `${report.sandboxId} ${report.rule}`;
      const last = this.#reported.get(key);
      const attempts = report.attempts + (last?.waiting ?? 0);
      if (last !== undefined && nowMs - last.atMs < this.#everyMs) {
        last.waiting = attempts;
        return [];
      }
      this.#reported.set(key, { atMs: nowMs, waiting: 0 });
      return [{ ...report, attempts }];
    });
  }
}

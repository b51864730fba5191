import type { EgressReport } from '@svc/egress';
import { type CompiledPolicy, compilePolicy, type EgressPolicy } from '@svc/network-policy';
import type { ForwardedTraffic, RefusedPackets, SentBytes } from '@svc/runtime/contract';

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

type Counts = Pick<ForwardedTraffic, 'connections' | 'bytesSent' | 'bytesReceived'>;
const NONE: Counts = { connections: 0, bytesSent: 0, bytesReceived: 0 };

interface NewForwardedOptions {
  /** Returns the policy of a sandbox, the same object while it stays; undefined for an unknown one. */
  policyOf(sandboxId: string): EgressPolicy | undefined;
  /** Ranges that the operator allows though they are always denied otherwise. */
  allowRanges: readonly string[];
}

/**
 * Turns what the kernel forwarded past the egress process into reports of what is new since the last time, as that process
 * reports what it carries. The first reading reports nothing: that traffic was before this server started.
 */
export class ForwardedDelta {
  readonly #options: NewForwardedOptions;
  readonly #compiled = new WeakMap<EgressPolicy, CompiledPolicy>();
  #seen: Map<string, Counts> | undefined;

  constructor(options: NewForwardedOptions) {
    this.#options = options;
  }

  /** @param counts all that there are: what is not among them is over, and counts from nothing when it comes again */
  take(counts: readonly ForwardedTraffic[], at: Date): EgressReport[] {
    const before = this.#seen;
    const seen = new Map(counts.map((each) => [keyOf(each), each]));
    this.#seen = seen;
    if (before === undefined) return [];
    return counts.flatMap((each) => {
      const known = before.get(keyOf(each)) ?? NONE;
      const attempts = added(known.connections, each.connections);
      const bytesSent = added(known.bytesSent, each.bytesSent);
      const bytesReceived = added(known.bytesReceived, each.bytesReceived);
      if (attempts + bytesSent + bytesReceived === 0) return [];
      const place = each.address === undefined ? { host: '(other)' } : { address: each.address };
      const report = { sandboxId: each.instanceId, ...place, port: each.port, outcome: 'allowed' } as const;
      return [{ ...report, rule: this.#ruleOf(each), attempts, bytesSent, bytesReceived, at }];
    });
  }

  #ruleOf({ instanceId, address, port }: ForwardedTraffic): string {
    const policy = this.#options.policyOf(instanceId);
    if (policy === undefined || address === undefined) return '(other)';
    let compiled = this.#compiled.get(policy);
    if (compiled === undefined) {
      compiled = compilePolicy(policy, { allowRanges: this.#options.allowRanges });
      this.#compiled.set(policy, compiled);
    }
    const { allowed, rule } = compiled.decide({ address, port });
    return allowed ? rule : 'earlier settings';
  }
}

function keyOf({ instanceId, address, port }: ForwardedTraffic): string {
  return `${instanceId} ${address} ${port}`;
}

/** A counter that is smaller than it was has begun anew. */
function added(before: number, now: number): number {
  return now < before ? now : now - before;
}

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

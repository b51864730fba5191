import type { EgressReport } from '@svc/egress';
import type { components } from '@svc/platform';
import { isoTime } from '../../api/wire/time.js';
import type { DestinationTraffic, SandboxTraffic, TrafficCounts, TrafficRecord } from '../sandbox-egress.js';

/** Destinations kept for one sandbox, and sandboxes kept at all: the ones not seen for longest go first. */
const DESTINATIONS = 100;
const SANDBOXES = 2_000;

interface Kept {
  totals: TrafficCounts;
  /** In the order in which they were last seen. */
  byPlace: Map<string, DestinationTraffic>;
  dropped: number;
}

/** Counts the traffic that left sandboxes and that was refused, by destination. Bounded, and in memory alone. */
export class TrafficCounters implements TrafficRecord {
  readonly totals: TrafficCounts = noTraffic();
  readonly #bySandbox = new Map<string, Kept>();

  add(report: EgressReport): void {
    let kept = this.#bySandbox.get(report.sandboxId);
    if (kept === undefined) {
      kept = { totals: noTraffic(), byPlace: new Map(), dropped: 0 };
      if (this.#bySandbox.size >= SANDBOXES) this.#bySandbox.delete(this.#bySandbox.keys().next().value!);
    } else this.#bySandbox.delete(report.sandboxId);
    this.#bySandbox.set(report.sandboxId, kept);
    const place = `${report.host ?? report.address ?? report.rule} ${report.port}`;
    const known = kept.byPlace.get(place);
    const destination = known ?? {
      ...noTraffic(),
      host: report.host,
      address: report.address,
      port: report.port,
      rule: report.rule,
      lastAtMs: 0,
    };
    for (const counts of [this.totals, kept.totals, destination]) count(counts, report);
    destination.rule = report.rule;
    destination.address = report.address ?? destination.address;
    destination.lastAtMs = Math.max(destination.lastAtMs, report.at.getTime());
    kept.byPlace.delete(place);
    if (known === undefined && kept.byPlace.size >= DESTINATIONS) {
      kept.byPlace.delete(kept.byPlace.keys().next().value!);
      kept.dropped += 1;
    }
    kept.byPlace.set(place, destination);
  }

  of(sandboxId: string): SandboxTraffic {
    const kept = this.#bySandbox.get(sandboxId);
    if (kept === undefined) return { totals: noTraffic(), destinations: [], dropped: 0 };
    return { totals: kept.totals, destinations: [...kept.byPlace.values()].reverse(), dropped: kept.dropped };
  }

  forget(sandboxId: string): void {
    this.#bySandbox.delete(sandboxId);
  }
}

function noTraffic(): TrafficCounts {
  return { allowed: 0, denied: 0, failed: 0, bytesSent: 0, bytesReceived: 0 };
}

function count(counts: TrafficCounts, report: EgressReport): void {
  counts[report.outcome] += report.attempts;
  counts.bytesSent += report.bytesSent;
  counts.bytesReceived += report.bytesReceived;
}

/** Renders the traffic of a sandbox for the API. */
export function trafficToWire({
  totals,
  destinations,
  dropped,
}: SandboxTraffic): components['schemas']['SandboxEgress'] {
  return {
    totals,
    destinations: destinations.map(({ host, address, lastAtMs, ...rest }) => ({
      ...rest,
      ...(host === undefined ? {} : { host }),
      ...(address === undefined ? {} : { address }),
      lastAt: isoTime(lastAtMs),
    })),
    dropped,
  };
}

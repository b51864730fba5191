import type { TeamUsageHour } from '@svc/sdk/operator';
import type { Point } from './plot.js';

const HOUR_MS = 3_600_000;

/** The use of a team, as lines of plots: a point for each hour, at its beginning. */
export interface UsageLines {
  /** Sandboxes that ran, on average. */
  sandboxes: Point[];
  /** Memory that those may use, bytes, on average. */
  memory: Point[];
  /** Bytes that left in the hour. */
  egress: Point[];
  /** Sandboxes that were made in the hour. */
  creates: Point[];
}

/** The hours of a span, those without any use among them. Of the hour that is not over, averages are those of the part that is. */
export function usageLines(hours: readonly TeamUsageHour[], fromMs: number, toMs: number): UsageLines {
  const known = new Map(hours.map((row) => [row.hour.getTime(), row]));
  const lines: UsageLines = { sandboxes: [], memory: [], egress: [], creates: [] };
  for (let at = Math.ceil(fromMs / HOUR_MS) * HOUR_MS; at < toMs; at += HOUR_MS) {
    const row = known.get(at);
    // Less than a second of an hour says nothing of the hour.
    const seconds = Math.max(1_000, Math.min(HOUR_MS, toMs - at)) / 1_000;
    lines.sandboxes.push({ at, value: (row?.sandboxSeconds ?? 0) / seconds });
    lines.memory.push({ at, value: ((row?.memoryGiBSeconds ?? 0) * 2 ** 30) / seconds });
    lines.egress.push({ at, value: row?.egressBytes ?? 0 });
    lines.creates.push({ at, value: row?.creates ?? 0 });
  }
  return lines;
}

/** A value at a time, ms since the epoch. */
export interface Point {
  at: number;
  value: number;
}

/** The range of a plot. */
export interface PlotRange {
  from: number;
  to: number;
  /** Value of the upper edge; the lower one is 0. */
  most: number;
}

/** Samples at a larger distance than this many times their usual distance are not joined: the sandbox was paused between them. */
const GAP = 5;

/** The lines of a plot as the `d` of an SVG path, one for each run of samples without a gap. */
export function linePath(points: readonly Point[], range: PlotRange, width: number, height: number): string {
  const gapMs = GAP * usualDistance(points);
  let previous: Point | undefined;
  const parts: string[] = [];
  for (const point of points) {
    const x = ((point.at - range.from) / Math.max(1, range.to - range.from)) * width;
    const y = height - (Math.min(point.value, range.most) / Math.max(range.most, Number.MIN_VALUE)) * height;
    const joined = previous !== undefined && point.at - previous.at <= gapMs;
    parts.push(`${joined ? 'L' : 'M'}${round(x)} ${round(y)}`);
    previous = point;
  }
  return parts.join('');
}

/** The unit of values: bytes have round numbers of their own. */
export type Unit = 'bytes' | 'other';

/**
 * The value of the upper edge: a round number that is at least the largest value, or the limit where the values come near it. A
 * sandbox that uses a hundredth of what it may would be a line on the ground otherwise.
 */
export function upperEdge(largest: number, unit: Unit, limit?: number): number {
  const round = unit === 'bytes' ? roundUpBytes(largest) : roundUp(largest);
  if (limit === undefined || limit <= 0) return round;
  return largest >= limit / 2 ? Math.max(limit, largest) : Math.min(round, limit);
}

function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * magnitude).find((step) => step >= value)!;
}

function roundUpBytes(value: number): number {
  return value > 1024 ? 2 ** Math.ceil(Math.log2(value)) : 1024;
}

/** The point whose time is nearest. */
export function nearest(points: readonly Point[], at: number): Point | undefined {
  let best: Point | undefined;
  for (const point of points)
    if (best === undefined || Math.abs(point.at - at) < Math.abs(best.at - at)) best = point;
  return best;
}

/** Rates a second from totals that only grow; where a total fell, the count began anew. */
export function ratesOf(totals: readonly Point[]): Point[] {
  return totals.slice(1).map((point, index) => {
    const before = totals[index]!;
    const seconds = Math.max(1, point.at - before.at) / 1_000;
    return { at: point.at, value: Math.max(0, point.value - before.value) / seconds };
  });
}

function usualDistance(points: readonly Point[]): number {
  const distances = points.slice(1).map(({ at }, index) => at - points[index]!.at);
  distances.sort((a, b) => a - b);
  return distances[Math.floor(distances.length / 2)] ?? 0;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

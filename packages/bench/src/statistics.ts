/** Figures of one series of measurements. */
export interface Summary {
  count: number;
  p50: number;
  p95: number;
  min: number;
  max: number;
}

/** @param values at least one */
export function summarize(values: readonly number[]): Summary {
  if (values.length === 0) throw new Error('nothing was measured');
  const sorted = [...values].sort((a, b) => a - b);
  return {
    count: sorted.length,
    p50: quantile(sorted, 0.5),
    p95: quantile(sorted, 0.95),
    min: sorted[0]!,
    max: sorted.at(-1)!,
  };
}

/** The value that one of a hundred exceeds. @param values at least one, in any order */
export function p99(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.99,
  );
}

/** The value below which a share of a sorted series lies, by linear interpolation. */
export function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const lower = sorted[below]!;
  const upper = sorted[Math.min(below + 1, sorted.length - 1)]!;
  return lower + (upper - lower) * (position - below);
}

/** One line of the table: a figure of ours, and what it is to be read against. */
export interface Figure {
  /** Stable name, e.g. `create.pool.p50`. */
  id: string;
  what: string;
  value: number;
  unit: 'ms' | 'MiB' | 'kB' | '%' | 'x' | 'MiB/s' | 's' | '/s';
  /** Measured in the same run, under the same conditions. */
  beside: { name: string; value: number; unit: Figure['unit'] }[];
  /** As the design states it; undefined where it states none. */
  target?: { text: string; met: boolean };
  /** The method: number of runs, sizes. */
  how: string;
}

export interface BenchContext {
  /** Few runs, small sizes: checks that the benchmark works, not how fast anything is. */
  quick: boolean;
  /** Which driver the server rows use. */
  driver: 'linux' | 'process';
  /** Prints progress to stderr. */
  progress(text: string): void;
}

/** A benchmark. It may skip itself with the reason. */
export interface Row {
  id: string;
  /** The subject of the measurement, for `--list`. */
  about: string;
  run(context: BenchContext): Promise<Figure[] | { skipped: string }>;
}

/** The number of runs for a full and a quick measurement. */
export function runs(context: BenchContext, full: number, quick: number): number {
  return context.quick ? quick : full;
}

export const below = (value: number, limit: number, text: string) => ({ text, met: value <= limit });
export const atLeast = (value: number, limit: number, text: string) => ({ text, met: value >= limit });

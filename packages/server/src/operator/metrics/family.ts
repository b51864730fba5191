/** One value of a metric. Labels distinguish it from its siblings. */
export interface Sample {
  value: number;
  labels?: Record<string, string>;
}

/** A metric that is read at each scrape. Names are given whole, with their unit (`_seconds`, `_bytes`) and `_total` for counters. */
export interface MetricFamily {
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  /** Each with the same labels. */
  samples: Sample[];
}

type Value = number | Sample[];

const samplesOf = (value: Value): Sample[] => (typeof value === 'number' ? [{ value }] : value);

export const gauge = (name: string, help: string, value: Value): MetricFamily => ({
  ...{ name, help, type: 'gauge' },
  samples: samplesOf(value),
});

/** A metric that only grows. */
export const counter = (name: string, help: string, value: Value): MetricFamily => ({
  ...{ name, help, type: 'counter' },
  samples: samplesOf(value),
});

/** One sample for each member. @param label what the names of the members are values of */
export function byLabel(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { [label]: name } }));
}

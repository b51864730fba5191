/** A value on an axis: a number, a date as ISO 8601, or a category; null for what is not a number. */
export type ChartValue = number | string | null;

interface ChartOf<Type extends string, Element> {
  type: Type;
  title: string;
  elements: Element[];
}

interface Labels {
  x_label?: string | null;
  y_label?: string | null;
  /** The text in parentheses at the end of the label. */
  x_unit?: string | null;
  y_unit?: string | null;
}

interface Scales extends Labels {
  x_ticks: ChartValue[];
  x_tick_labels: string[];
  /** `linear`, `log`, `datetime`, `categorical` and others of matplotlib. */
  x_scale: string;
  y_ticks: ChartValue[];
  y_tick_labels: string[];
  y_scale: string;
}

interface Points {
  label: string;
  points: [ChartValue, ChartValue][];
}

interface Bar {
  label: string;
  /** Label of its series. */
  group: string;
  value: ChartValue;
}

interface Wedge {
  label: string;
  /** Degrees. */
  angle: number;
  radius: number;
}

interface Box {
  label: string;
  min: number;
  first_quartile: number;
  median: number;
  third_quartile: number;
  max: number;
  outliers: number[];
}

/** A figure as data, in the names of the wire. A figure with several axes is a `superchart` of theirs. */
export type CodeChart =
  | (ChartOf<'line' | 'scatter', Points> & Scales)
  | (ChartOf<'bar', Bar> & Labels)
  | ChartOf<'pie', Wedge>
  | (ChartOf<'box_and_whisker', Box> & Labels)
  | ChartOf<'superchart', CodeChart>
  | ChartOf<'unknown', unknown>;

/** One value of a metric, told apart from its siblings by labels. */
export interface Sample {
  value: number;
  labels?: Record<string, string>;
}

/** A metric and its values. Names are given whole, with their unit (`_seconds`, `_bytes`) and `_total` for counters. */
export interface MetricFamily {
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  samples: Sample[];
}

const escapeHelp = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"');

function formatValue(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return String(value);
}

function formatSample(name: string, { value, labels = {} }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${formatValue(value)}`;
}

/** Content type of {@link renderMetrics}. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Renders metrics in Prometheus' text format. A family without samples is left out; families of one name are joined,
 * because the format allows each name once.
 */
export function renderMetrics(families: readonly MetricFamily[]): string {
  const byName = new Map<string, MetricFamily>();
  for (const family of families) {
    const known = byName.get(family.name);
    const samples = [...(known?.samples ?? []), ...family.samples];
    byName.set(family.name, { ...(known ?? family), samples });
  }
  const lines: string[] = [];
  for (const { name, help, type, samples } of byName.values()) {
    if (samples.length === 0) continue;
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`);
    for (const sample of samples) lines.push(formatSample(name, sample));
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

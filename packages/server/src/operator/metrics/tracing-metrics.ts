import type { TracingCounts } from '../../api/context/tracer.js';
import type { MetricFamily } from './metrics-page.js';

/** What became of spans; nothing without tracing. */
export function tracingMetrics(counts: TracingCounts | undefined): MetricFamily[] {
  if (counts === undefined) return [];
  return [
    {
      name: 'svc_tracing_spans_total',
      help: 'Spans that were exported, and dropped because the collector did not take them.',
      type: 'counter',
      samples: [
        { value: counts.exported, labels: { outcome: 'exported' } },
        { value: counts.dropped, labels: { outcome: 'dropped' } },
      ],
    },
  ];
}

import type { ConnectionCounts } from '../../api/limits/connections.js';
import type { MetricFamily } from './metrics-page.js';

/** Connections of each listener, as metrics. */
export function connectionMetrics(listeners: Record<string, ConnectionCounts>): MetricFamily[] {
  const family = (
    name: string,
    help: string,
    type: MetricFamily['type'],
    count: (counts: ConnectionCounts) => number,
  ): MetricFamily => ({
    name,
    help,
    type,
    samples: Object.entries(listeners).map(([listener, counts]) => ({
      value: count(counts),
      labels: { listener },
    })),
  });
  return [
    family('svc_connections', 'Open connections of clients.', 'gauge', ({ open }) => open),
    family(
      'svc_connections_refused_total',
      'Connections beyond a limit.',
      'counter',
      ({ refused }) => refused,
    ),
    family(
      'svc_connections_evicted_total',
      'Unused connections that gave way to new ones.',
      'counter',
      ({ evicted }) => evicted,
    ),
  ];
}

import type { Uses } from '../../cluster/context.js';
import type { MetricFamily } from './metrics-page.js';

/** What left sandboxes through the egress process, as metrics. Empty for drivers without one. */
export function egressMetrics({
  driver,
  egress,
  traffic,
}: Uses<'driver' | 'egress' | 'traffic'>): MetricFamily[] {
  if (driver.egress === undefined) return [];
  const { allowed, denied, failed, bytesSent, bytesReceived } = traffic.totals;
  return [
    {
      name: 'svc_egress_connected',
      help: '1 while the egress process has heard of every policy.',
      type: 'gauge',
      samples: [{ value: egress.connected ? 1 : 0 }],
    },
    {
      name: 'svc_egress_connections_total',
      help: 'Connections that policies decided, and requests where each is decided.',
      type: 'counter',
      samples: Object.entries({ allowed, denied, failed }).map(([outcome, value]) => ({
        value,
        labels: { outcome },
      })),
    },
    {
      name: 'svc_egress_bytes_total',
      help: 'Bytes of those connections, as sandboxes see them.',
      type: 'counter',
      samples: [
        { value: bytesSent, labels: { direction: 'sent' } },
        { value: bytesReceived, labels: { direction: 'received' } },
      ],
    },
  ];
}

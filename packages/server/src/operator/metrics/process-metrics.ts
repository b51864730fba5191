import type { MetricFamily } from './metrics-page.js';

/** Time and memory of this server process. */
export function processMetrics(): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const one = (name: string, help: string, type: MetricFamily['type'], value: number): MetricFamily => ({
    name,
    help,
    type,
    samples: [{ value }],
  });
  return [
    one('process_cpu_seconds_total', 'CPU time of the server.', 'counter', (user + system) / 1e6),
    one('process_resident_memory_bytes', 'Resident memory of the server.', 'gauge', rss),
    one('nodejs_heap_used_bytes', 'Used JavaScript heap of the server.', 'gauge', heapUsed),
    one('process_uptime_seconds', 'Time since the server started.', 'gauge', process.uptime()),
  ];
}

import { ServiceMetrics } from '../../api/context/service-metrics.js';
import { EventLoopDelay } from './event-loop.js';
import { type MetricFamily, MetricsPage } from './metrics-page.js';

/** What a server counts as it works, and how it is shown. */
export interface OpenMetrics {
  metrics: ServiceMetrics;
  /** Everything in Prometheus' text format, these included. */
  show(families: readonly MetricFamily[]): Promise<{ type: string; body: string }>;
  close(): void;
}

/** Loaded for servers with an operator port only: it costs a start 25 ms of processor time. */
export function openMetrics(): OpenMetrics {
  const page = new MetricsPage();
  const eventLoop = new EventLoopDelay();
  return {
    metrics: new ServiceMetrics(page.registry),
    show: async (families) => ({
      type: page.contentType,
      body: await page.render([...families, ...eventLoop.metrics()]),
    }),
    close: () => eventLoop.close(),
  };
}

import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { ServiceMetrics } from '../../api/context/service-metrics.js';
import type { MetricFamily } from './family.js';
import { MetricsPage } from './metrics-page.js';

/** The counters of a server, and their presentation. */
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

/** Sampling interval of the event loop, ms: fine enough to show delays that users notice, at 50 wakings a second. */
const RESOLUTION_MS = 20;

/** Measures the delay of the event loop: the time that new work waits for the work that runs. */
export class EventLoopDelay {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.#delays.enable();
  }

  /** Since the last time that it was asked. */
  metrics(): MetricFamily[] {
    const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3);
    const samples = ([50, 99, 100] as const).map((percentile) => ({
      value: this.#delays.count === 0 ? 0 : seconds(this.#delays.percentile(percentile)),
      labels: { percentile: String(percentile) },
    }));
    this.#delays.reset();
    return [
      {
        name: 'svc_event_loop_delay_seconds',
        help: 'How late the event loop of the server, and so of its gateway, was since the last scrape.',
        type: 'gauge',
        samples,
      },
    ];
  }

  close(): void {
    this.#delays.disable();
  }
}

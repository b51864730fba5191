import { Counter, Gauge, Registry } from 'prom-client';
import type { MetricFamily } from './family.js';

/** Everything that Prometheus reads of a server: what is counted as it works, and what is read at each scrape. */
export class MetricsPage {
  /** For what is counted as the server works. */
  readonly registry = new Registry();
  readonly #read = new Map<string, Counter | Gauge>();

  /** Of {@link render}. */
  get contentType(): string {
    return this.registry.contentType;
  }

  /** Prometheus' text format. A family without samples is left out. */
  async render(families: readonly MetricFamily[]): Promise<string> {
    for (const metric of this.#read.values()) metric.reset();
    for (const { name, help, type, samples } of families) {
      for (const { labels = {}, value } of samples) {
        const metric = this.#metric(name, help, type, Object.keys(labels));
        if (metric instanceof Gauge) metric.set(labels, value);
        else metric.inc(labels, value);
      }
    }
    return this.registry.metrics();
  }

  #metric(name: string, help: string, type: MetricFamily['type'], labelNames: string[]): Counter | Gauge {
    let metric = this.#read.get(name);
    if (metric === undefined) {
      metric = new (type === 'gauge' ? Gauge : Counter)({
        name,
        help,
        labelNames,
        registers: [this.registry],
      });
      this.#read.set(name, metric);
    }
    return metric;
  }
}

import { Counter, Histogram, type Registry } from 'prom-client';

/** Upper bounds of a few milliseconds to a minute, seconds. */
const LATENCY_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const BUILD_BUCKETS = [1, 5, 15, 60, 180, 600, 1_800];

/** The source of a start: the layers of the template, a stored file system, or stored memory. */
export type StartSource = 'fresh' | 'filesystem' | 'memory';

/** Counters and timings of the server's work. */
export class ServiceMetrics {
  readonly #requests: Histogram<'operation' | 'status'>;
  readonly #phases: Histogram<'source' | 'phase'>;
  readonly #failures: Counter<'source' | 'phase' | 'code'>;
  readonly #builds: Histogram<'outcome'>;
  readonly #deliveries: Counter<'outcome'>;
  readonly #copies: Histogram<'kind' | 'outcome'>;
  readonly #copiedBytes: Counter<'kind'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Histogram({
      name: 'svc_api_request_duration_seconds',
      help: 'Requests to the API, by operation and status, until their answer was sent or its client left (status 499).',
      labelNames: ['operation', 'status'],
      buckets: LATENCY_BUCKETS,
      registers,
    });
    this.#phases = new Histogram({
      name: 'svc_sandbox_start_phase_duration_seconds',
      help: 'Starts of sandboxes, by what they start from and phase: record, driver, network, daemon, publish.',
      labelNames: ['source', 'phase'],
      buckets: LATENCY_BUCKETS,
      registers,
    });
    this.#failures = new Counter({
      name: 'svc_sandbox_start_failures_total',
      help: 'Starts that failed, by the phase that failed and why.',
      labelNames: ['source', 'phase', 'code'],
      registers,
    });
    this.#builds = new Histogram({
      name: 'svc_build_duration_seconds',
      help: 'Template builds that ended.',
      labelNames: ['outcome'],
      buckets: BUILD_BUCKETS,
      registers,
    });
    this.#deliveries = new Counter({
      name: 'svc_webhook_attempts_total',
      help: 'Attempts to deliver an event to a webhook: delivered, or how it failed.',
      labelNames: ['outcome'],
      registers,
    });
    this.#copies = new Histogram({
      name: 'svc_object_copy_duration_seconds',
      help: 'Copies of layers, checkpoints and what they stand on, from another server.',
      labelNames: ['kind', 'outcome'],
      buckets: BUILD_BUCKETS,
      registers,
    });
    this.#copiedBytes = new Counter({
      name: 'svc_object_copied_bytes_total',
      help: 'Bytes of such copies that came from other servers, as they come.',
      labelNames: ['kind'],
      registers,
    });
  }

  copy(kind: string, outcome: 'done' | 'failed', seconds: number): void {
    this.#copies.observe({ kind, outcome }, seconds);
  }

  copiedBytes(kind: string, bytes: number): void {
    this.#copiedBytes.inc({ kind }, bytes);
  }

  request(operation: string, status: number, seconds: number): void {
    this.#requests.observe({ operation, status: String(status) }, seconds);
  }

  startPhase(source: StartSource, phase: string, seconds: number): void {
    this.#phases.observe({ source, phase }, seconds);
  }

  startFailed(source: StartSource, phase: string, code: string): void {
    this.#failures.inc({ source, phase, code });
  }

  build(outcome: 'ready' | 'failed', seconds: number): void {
    this.#builds.observe({ outcome }, seconds);
  }

  /** @param outcome one of few words: it is a label. */
  delivery(outcome: string): void {
    this.#deliveries.inc({ outcome });
  }
}

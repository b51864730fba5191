import { setTimeout as sleep } from 'node:timers/promises';
import { anyOf } from '#support/any-of';
import type { FinishedSpan, Resource, SpanSink } from '../finished-span.js';
import { encodeJson } from './encode-json.js';
import { encodeProtobuf } from './encode-protobuf.js';

export interface ExporterOptions {
  /** Base URL of the collector; `/v1/traces` is added. */
  endpoint: string;
  headers: Record<string, string>;
  protocol: 'http/protobuf' | 'http/json';
  resource: Resource;
  /** Receives the reason why spans are lost, at most once a minute; without secrets. */
  warn(fields: { reason: string; dropped: number }): void;
  /** Milliseconds from any point. Default: those of the process. */
  now?: () => number;
  /** Time limit for one request, ms. Default 10 000. */
  timeoutMs?: number;
  /** Waiting times before further attempts, ms. */
  retryDelaysMs?: readonly number[];
}

/** Most spans that wait. More are dropped: the collector's troubles must not become the server's. */
export const MOST_WAITING = 4_096;
const BATCH = 512;
/** Time for which spans wait for others, ms. */
const LINGER_MS = 1_000;
const WARN_EVERY_MS = 60_000;
/** Longest delay of the server's end, ms. */
const CLOSE_MS = 3_000;

/** Sends spans to a collector by OTLP over HTTP, in batches, one request at a time. Adding one never waits and never throws. */
export class OtlpExporter implements SpanSink {
  readonly #options: ExporterOptions;
  readonly #url: string;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  #waiting: FinishedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #closed = false;
  #exported = 0;
  #dropped = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
    this.#now = options.now ?? (() => performance.now());
  }

  get counts() {
    return { exported: this.#exported, dropped: this.#dropped };
  }

  add(span: FinishedSpan): void {
    if (this.#closed || this.#waiting.length >= MOST_WAITING) {
      this.#lose(1, this.#closed ? undefined : 'more spans than the collector takes');
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH) this.#send();
    else if (this.#timer === undefined && this.#sending === undefined) {
      this.#timer = setTimeout(() => this.#send(), LINGER_MS);
      this.#timer.unref();
    }
  }

  /** Sends what waits, for a few seconds at most; then drops it. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    const limit = setTimeout(() => this.#closing.abort(new Error('the server stops')), CLOSE_MS);
    this.#send();
    await this.#sending;
    clearTimeout(limit);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      const reason = await this.#deliver(batch);
      if (reason === undefined) this.#exported += batch.length;
      else this.#lose(batch.length, reason);
    }
  }

  /** @returns why it failed; undefined when it did not */
  async #deliver(batch: readonly FinishedSpan[]): Promise<string | undefined> {
    const { protocol, resource, retryDelaysMs = [1_000, 5_000] } = this.#options;
    const encode = protocol === 'http/json' ? encodeJson : encodeProtobuf;
    const body = encode(resource, batch);
    for (let attempt = 0; ; attempt++) {
      const { reason, again } = await this.#post(body);
      const delay = retryDelaysMs[attempt];
      if (reason === undefined || !again || delay === undefined || this.#closed) return reason;
      await sleep(delay, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {});
    }
  }

  async #post(body: Buffer): Promise<{ reason?: string; again?: boolean }> {
    const { headers, protocol, timeoutMs = 10_000 } = this.#options;
    const type = protocol === 'http/json' ? 'application/json' : 'application/x-protobuf';
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': type },
        body: new Uint8Array(body),
        // Its headers are for the collector alone.
        redirect: 'error',
        signal: anyOf([AbortSignal.timeout(timeoutMs), this.#closing.signal]),
      });
      await response.body?.cancel();
      if (response.ok) return {};
      return {
        reason: `the collector answered ${response.status}`,
        again: [429, 502, 503, 504].includes(response.status),
      };
    } catch (error) {
      return { reason: reasonOf(error), again: true };
    }
  }

  #lose(spans: number, reason: string | undefined): void {
    this.#dropped += spans;
    if (reason === undefined || this.#now() - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = this.#now();
    this.#options.warn({ reason, dropped: this.#dropped });
  }
}

/** Describes the failure, without anything of the request. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'the collector did not answer in time';
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  return typeof code === 'string'
    ? `the collector cannot be reached: ${code}`
    : 'the collector cannot be reached';
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Attributes, SpanOptions, Tracer, TracingCounts } from '../../api/context/tracer.js';
import type { FinishedSpan, SpanSink } from './finished-span.js';
import { parseTraceparent, type TraceContext } from './finished-span.js';
import { decideStart, type Sampling } from './sampler.js';

/** Longest text of an attribute, characters. */
const longestText = 256;
const mostAttributes = 32;
/** Most spans of one trace in this process: a loop over everything must not fill the queue alone. */
const mostInTrace = 1_000;

/** State that all spans of one trace in this process share. */
interface Trace {
  readonly id: string;
  /** False: nothing of it is recorded. */
  readonly sampled: boolean;
  spans: number;
}

interface OpenSpan {
  readonly trace: Trace;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startUs: number;
  readonly kind: FinishedSpan['kind'];
  readonly link: TraceContext | undefined;
  name: string;
  attributes: Attributes;
  ended: boolean;
}

/** Makes spans and hands the finished ones of sampled traces to the sink. */
export class RecordingTracer implements Tracer {
  readonly #current = new AsyncLocalStorage<OpenSpan>();
  readonly #sink: SpanSink;
  readonly #sampling: Sampling;
  readonly #random: () => number;

  constructor(sink: SpanSink, sampling: Sampling, random: () => number = Math.random) {
    this.#sink = sink;
    this.#sampling = sampling;
    this.#random = random;
  }

  get counts(): TracingCounts {
    return this.#sink.counts;
  }

  async span<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const current = options.root === true ? undefined : this.#current.getStore();
    // Work that outlives its request belongs to no trace, and begins none.
    if (current?.ended === true) return work();
    const span = current === undefined ? this.#first(name, options) : below(current, name, options);
    let failure: string | undefined;
    try {
      return await this.#current.run(span, work);
    } catch (error) {
      failure = error instanceof Error ? codeOf(error) : 'error';
      throw error;
    } finally {
      this.#end(span, failure);
    }
  }

  requestSpan(
    req: IncomingMessage,
    res: ServerResponse,
    name: string,
    attributes: Attributes,
    work: () => void,
  ): void {
    const options = { kind: 'server', attributes } as const;
    const span = this.#first(name, options, parseTraceparent(req.headers.traceparent));
    res.once('close', () => {
      const { statusCode: status } = res;
      if (res.headersSent) span.attributes['http.response.status_code'] = status;
      if (!res.writableFinished) span.attributes['svc.aborted'] = true;
      this.#end(span, res.headersSent && status >= 500 ? String(status) : undefined);
    });
    this.#current.run(span, work);
  }

  past(name: string, durationMs: number, attributes: Attributes, failed: boolean): void {
    const current = this.#current.getStore();
    if (current === undefined || current.ended || !current.trace.sampled) return;
    const startUs = nowUs() - Math.round(durationMs * 1_000);
    const span = { ...below(current, name, { kind: 'client', attributes }), startUs };
    this.#end(span, failed ? 'error' : undefined);
  }

  annotate(attributes: Attributes, name?: string): void {
    const current = this.#current.getStore();
    if (current === undefined || !current.trace.sampled) return;
    Object.assign(current.attributes, attributes);
    if (name !== undefined) current.name = name;
  }

  #first(name: string, options: SpanOptions, caller?: TraceContext): OpenSpan {
    const { sampled, parent, link } = decideStart(this.#sampling, caller, this.#random());
    const trace = { id: parent?.traceId ?? randomBytes(16).toString('hex'), sampled, spans: 0 };
    return open(trace, parent?.spanId, name, options, link);
  }

  #end(span: OpenSpan, failure: string | undefined): void {
    if (span.ended) return;
    span.ended = true;
    const { trace, name, kind, spanId, parentSpanId, link, startUs } = span;
    if (!trace.sampled || trace.spans++ >= mostInTrace) return;
    const attributes =
      failure === undefined ? span.attributes : { ...span.attributes, 'error.type': failure };
    this.#sink.add({
      traceId: trace.id,
      spanId,
      parentSpanId,
      name,
      kind,
      startUs,
      endUs: Math.max(startUs, nowUs()),
      attributes: boundedAttributes(attributes),
      link,
      failed: 'error.type' in attributes,
    });
  }
}

function open(
  trace: Trace,
  parentSpanId: string | undefined,
  name: string,
  { kind = 'internal', attributes = {} }: SpanOptions,
  link?: TraceContext,
): OpenSpan {
  const spanId = trace.sampled ? randomBytes(8).toString('hex') : '';
  const startUs = nowUs();
  return {
    trace,
    spanId,
    parentSpanId,
    startUs,
    kind,
    link,
    name,
    attributes: { ...attributes },
    ended: false,
  };
}

function below(parent: OpenSpan, name: string, options: SpanOptions): OpenSpan {
  return open(parent.trace, parent.spanId, name, options);
}

/** Returns microseconds since 1970, at the resolution of the process clock. */
function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1_000);
}

/** A word for an error: its code, else its class. Never its message, which may quote anything. */
function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' || typeof code === 'number' ? String(code) : error.name;
}

function boundedAttributes(attributes: Attributes): Attributes {
  const entries = Object.entries(attributes).slice(0, mostAttributes);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, longestText) : value]),
  );
}

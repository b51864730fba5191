import type { IncomingMessage, ServerResponse } from 'node:http';

/** Attributes of a span. Texts are cut at 256 characters; nothing of a request's body, query or credentials belongs here. */
export type Attributes = Record<string, string | number | boolean>;

export interface SpanOptions {
  kind?: 'internal' | 'server' | 'client';
  attributes?: Attributes | undefined;
  /** Begins a trace of its own, for work that outlives the request which caused it. */
  root?: boolean;
}

/** Counts of spans since the start. */
export interface TracingCounts {
  readonly exported: number;
  readonly dropped: number;
}

/** Makes spans of what the server does. There is one only where `tracing.endpoint` is set: without it nothing is made or loaded. */
export interface Tracer {
  /** Runs work as a span below the current one. One that throws is marked as failed, by the name of its error. */
  span<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Runs what answers a request as a span that ends with the answer; `traceparent` is read as the sampler says. */
  requestSpan(
    req: IncomingMessage,
    res: ServerResponse,
    name: string,
    attributes: Attributes,
    work: () => void,
  ): void;
  /** Something that took so long until now, ms, below the current span. Nothing where there is none. */
  past(name: string, durationMs: number, attributes: Attributes, failed: boolean): void;
  /** Says more about the current span; also gives it a name. */
  annotate(attributes: Attributes, name?: string): void;
  readonly counts: TracingCounts;
}

/** Runs work as a span where there is a tracer. */
export function inSpan<T>(
  tracer: Tracer | undefined,
  name: string,
  work: () => Promise<T>,
  options: SpanOptions = {},
): Promise<T> {
  return tracer === undefined ? work() : tracer.span(name, options, work);
}

import type { Attributes, TracingCounts } from '../../api/context/tracer.js';
import type { TraceContext } from './trace-context.js';

/** A span that has ended. */
export interface FinishedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: 'internal' | 'server' | 'client';
  /** Microseconds since 1970. */
  startUs: number;
  endUs: number;
  attributes: Attributes;
  link: TraceContext | undefined;
  failed: boolean;
}

/** Where finished spans go. */
export interface SpanSink {
  add(span: FinishedSpan): void;
  readonly counts: TracingCounts;
}

/** What sends the spans. */
export interface Resource {
  attributes: Attributes;
  /** Of the tracer. */
  scope: { name: string };
}

/** Numbers of the kinds in OTLP. */
export const kindNumbers = { internal: 1, server: 2, client: 3 } as const;
/** Number of the status of a failure. */
export const failedStatus = 2;

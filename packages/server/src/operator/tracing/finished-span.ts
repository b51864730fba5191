import type { Attributes, TracingCounts } from '../../api/context/tracer.js';

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

/** Receives finished spans. */
export interface SpanSink {
  add(span: FinishedSpan): void;
  readonly counts: TracingCounts;
}

/** The sender of the spans. */
export interface Resource {
  attributes: Attributes;
  /** Of the tracer. */
  scope: { name: string };
}

/** Numbers of the kinds in OTLP. */
export const kindNumbers = { internal: 1, server: 2, client: 3 } as const;
/** Number of the status of a failure. */
export const failedStatus = 2;

/** The place in a trace that something happens at. */
export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  sampled: boolean;
}

/** Reads a `traceparent` header, version 00 of W3C Trace Context. Undefined for anything else. */
export function parseTraceparent(header: unknown): TraceContext | undefined {
  if (typeof header !== 'string') return undefined;
  const match = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header);
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

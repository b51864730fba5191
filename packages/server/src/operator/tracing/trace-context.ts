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

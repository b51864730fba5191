import type { Attributes } from '../../../api/context/tracer.js';
import { type FinishedSpan, failedStatus, kindNumbers, type Resource } from '../finished-span.js';

/** A request of OTLP for traces, as its mapping to JSON has it: ids in hex, 64-bit numbers as texts. */
export function encodeJson(resource: Resource, spans: readonly FinishedSpan[]): Buffer {
  const request = {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource.attributes) },
        scopeSpans: [{ scope: resource.scope, spans: spans.map(spanOf) }],
      },
    ],
  };
  return Buffer.from(JSON.stringify(request));
}

function spanOf(span: FinishedSpan) {
  const { link } = span;
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kindNumbers[span.kind],
    startTimeUnixNano: `${span.startUs}000`,
    endTimeUnixNano: `${span.endUs}000`,
    attributes: attributesOf(span.attributes),
    ...(link === undefined ? {} : { links: [{ traceId: link.traceId, spanId: link.spanId }] }),
    status: span.failed ? { code: failedStatus } : {},
  };
}

function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: Attributes[string]) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

import type { Attributes } from '../../../api/context/tracer.js';
import { type FinishedSpan, failedStatus, kindNumbers, type Resource } from '../finished-span.js';

// Written by hand: of OTLP's messages only these few fields are ever sent, and a library for them weighs more than the
// server's own exporter. The numbers are those of the fields in OTLP's protocol, which never change.

/** A request of OTLP for traces in the binary format of protocol buffers. */
export function encodeProtobuf(resource: Resource, spans: readonly FinishedSpan[]): Buffer {
  const scope = text(1, resource.scope.name);
  const scopeSpans = [...nested(1, scope), ...spans.flatMap((span) => nested(2, spanFields(span)))];
  const resourceFields = attributeFields(1, resource.attributes);
  return Buffer.concat(nested(1, [...nested(1, resourceFields), ...nested(2, scopeSpans)]));
}

function spanFields(span: FinishedSpan): Buffer[] {
  const { link, parentSpanId } = span;
  return [
    ...bytes(1, Buffer.from(span.traceId, 'hex')),
    ...bytes(2, Buffer.from(span.spanId, 'hex')),
    ...(parentSpanId === undefined ? [] : bytes(4, Buffer.from(parentSpanId, 'hex'))),
    ...text(5, span.name),
    ...varint(6, BigInt(kindNumbers[span.kind])),
    ...fixed64(7, BigInt(span.startUs) * 1_000n),
    ...fixed64(8, BigInt(span.endUs) * 1_000n),
    ...attributeFields(9, span.attributes),
    ...(link === undefined
      ? []
      : nested(13, [
          ...bytes(1, Buffer.from(link.traceId, 'hex')),
          ...bytes(2, Buffer.from(link.spanId, 'hex')),
        ])),
    ...(span.failed ? nested(15, varint(3, BigInt(failedStatus))) : []),
  ];
}

function attributeFields(field: number, attributes: Attributes): Buffer[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    nested(field, [...text(1, key), ...nested(2, valueFields(value))]),
  );
}

function valueFields(value: Attributes[string]): Buffer[] {
  if (typeof value === 'string') return text(1, value);
  if (typeof value === 'boolean') return varint(2, value ? 1n : 0n);
  if (Number.isSafeInteger(value)) return varint(3, BigInt.asUintN(64, BigInt(value)));
  const double = Buffer.alloc(8);
  double.writeDoubleLE(value);
  return [tag(4, 1), double];
}

function tag(field: number, wireType: 0 | 1 | 2): Buffer {
  return varintBytes(BigInt((field << 3) | wireType));
}

function varint(field: number, value: bigint): Buffer[] {
  return [tag(field, 0), varintBytes(value)];
}

function fixed64(field: number, value: bigint): Buffer[] {
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(value);
  return [tag(field, 1), number];
}

function bytes(field: number, value: Buffer): Buffer[] {
  return [tag(field, 2), varintBytes(BigInt(value.length)), value];
}

function text(field: number, value: string): Buffer[] {
  return bytes(field, Buffer.from(value));
}

function nested(field: number, fields: readonly Buffer[]): Buffer[] {
  return bytes(field, Buffer.concat(fields));
}

function varintBytes(value: bigint): Buffer {
  const out: number[] = [];
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  out.push(Number(rest));
  return Buffer.from(out);
}

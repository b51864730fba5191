import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector of OpenTelemetry receives it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty for the first of a trace. */
  parentSpanId: string;
  name: string;
  kind: number;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, string | number | boolean>;
  links: { traceId: string; spanId: string }[];
  /** 2 for a failure. */
  status: number;
}

export interface ReceivedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  resource: Record<string, unknown>;
  spans: ReceivedSpan[];
  /** As it came. */
  body: Buffer;
}

/** The answer of the collector: a status, or none at all. */
export type Behaviour = number | 'hang';

/** A collector that takes traces by OTLP over HTTP, in both encodings, and keeps them. */
export interface PlayedCollector extends AsyncDisposable {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  readonly spans: ReceivedSpan[];
  behave: Behaviour;
}

export async function playCollector(behave: Behaviour = 200): Promise<PlayedCollector> {
  const requests: ReceivedRequest[] = [];
  const hanging = new Set<ServerResponse>();
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const decode = request.headers['content-type'] === 'application/json' ? decodeJson : decodeProtobuf;
    requests.push({ path: request.url ?? '', headers: request.headers, body, ...decode(body) });
    if (collector.behave === 'hang') hanging.add(response);
    else response.writeHead(collector.behave).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const collector: PlayedCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get spans() {
      return requests.flatMap(({ spans }) => spans);
    },
    behave,
    async [Symbol.asyncDispose]() {
      for (const response of hanging) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

type Decoded = Pick<ReceivedRequest, 'resource' | 'spans'>;
// biome-ignore lint/suspicious/noExplicitAny: the fields are looked at one by one
type Json = any;

function decodeJson(body: Buffer): Decoded {
  const [{ resource, scopeSpans }] = (JSON.parse(body.toString()) as Json).resourceSpans;
  const attributes = (list: Json) =>
    Object.fromEntries(
      list.map(({ key, value }: Json) => {
        const { stringValue, intValue, doubleValue, boolValue } = value;
        return [
          key,
          stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue,
        ];
      }),
    );
  return {
    resource: attributes(resource.attributes),
    spans: scopeSpans.flatMap(({ spans }: Json) =>
      spans.map((span: Json) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: attributes(span.attributes),
        links: span.links ?? [],
        status: span.status?.code ?? 0,
      })),
    ),
  };
}

type Fields = Map<number, (bigint | Buffer)[]>;

function decodeProtobuf(body: Buffer): Decoded {
  const resourceSpans = one(fieldsOf(body), 1);
  return {
    resource: attributesOf(one(resourceSpans, 1), 1),
    spans: all(resourceSpans, 2).flatMap((scope) => all(scope, 2).map(spanOf)),
  };
}

function spanOf(span: Fields): ReceivedSpan {
  const hex = (fields: Fields, field: number) =>
    ((fields.get(field)?.[0] as Buffer) ?? Buffer.alloc(0)).toString('hex');
  const number = (fields: Fields, field: number) => (fields.get(field)?.[0] as bigint) ?? 0n;
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentSpanId: hex(span, 4),
    name: String(span.get(5)?.[0]),
    kind: Number(number(span, 6)),
    startNs: number(span, 7),
    endNs: number(span, 8),
    attributes: attributesOf(span, 9),
    links: all(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    status: span.has(15) ? Number(number(one(span, 15), 3)) : 0,
  };
}

function attributesOf(fields: Fields, field: number): Record<string, string | number | boolean> {
  return Object.fromEntries(
    all(fields, field).map((pair) => {
      const value = one(pair, 2);
      const [text] = value.get(1) ?? [];
      const [flag] = value.get(2) ?? [];
      const [whole] = value.get(3) ?? [];
      const [double] = value.get(4) ?? [];
      if (text !== undefined) return [String(pair.get(1)?.[0]), String(text)];
      if (flag !== undefined) return [String(pair.get(1)?.[0]), flag === 1n];
      if (whole !== undefined) return [String(pair.get(1)?.[0]), Number(BigInt.asIntN(64, whole as bigint))];
      const bits = Buffer.alloc(8);
      bits.writeBigUInt64LE(double as bigint);
      return [String(pair.get(1)?.[0]), bits.readDoubleLE()];
    }),
  );
}

const all = (fields: Fields, field: number): Fields[] =>
  (fields.get(field) ?? []).map((value) => fieldsOf(value as Buffer));

function one(fields: Fields, field: number): Fields {
  const [value] = all(fields, field);
  if (value === undefined) throw new Error(`the message has no field ${field}`);
  return value;
}

/** The fields of a message in the wire format of protocol buffers. */
function fieldsOf(message: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new Error('the message ends in the middle of a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > message.length) throw new Error('the message ends in the middle of a field');
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    let value: bigint | Buffer;
    if (kind === 0) value = varint();
    else if (kind === 1) value = take(8).readBigUInt64LE();
    else if (kind === 2) value = take(Number(varint()));
    else if (kind === 5) value = BigInt(take(4).readUInt32LE());
    else throw new Error(`unknown wire type ${kind}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

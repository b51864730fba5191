import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DescMessage, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf';

export interface RawRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** An HTTP server that keeps every request byte for byte, and answers as scripted. */
export async function startRawServer(respond: (request: RawRequest, response: ServerResponse) => void) {
  const requests: RawRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request: RawRequest = {
      method: incoming.method ?? '',
      url: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    };
    requests.push(request);
    respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One frame as the specification draws it: flags, length in four bytes with the highest first, payload. */
export function frame(flags: number, payload: Uint8Array | object | string): Buffer {
  const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload), 'utf8');
  const head = Buffer.from(
    [flags, bytes.length >>> 24, bytes.length >>> 16, bytes.length >>> 8, bytes.length].map((n) => n & 255),
  );
  return Buffer.concat([head, bytes]);
}

/** A frame with one message in the binary codec, given as JSON. */
export function messageFrame<Desc extends DescMessage>(schema: Desc, json: JsonValue): Buffer {
  return frame(0, toBinary(schema, fromJson(schema, json)));
}

/** Answers a streaming call with ready frames, always as HTTP 200. */
export function answerFrames(response: ServerResponse, ...frames: Buffer[]) {
  response.writeHead(200, { 'Content-Type': 'application/connect+proto' });
  response.end(Buffer.concat(frames));
}

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RawRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** An HTTP server that keeps every request byte for byte, and answers as told. */
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

/** One frame as the specification draws it: flags, length in four bytes with the highest first, JSON. */
export function frame(flags: number, payload: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(payload), 'utf8');
  const head = Buffer.from(
    [flags, json.length >>> 24, json.length >>> 16, json.length >>> 8, json.length].map((n) => n & 255),
  );
  return Buffer.concat([head, json]);
}

/** Answers a streaming call with ready frames, always as HTTP 200. */
export function answerFrames(response: ServerResponse, ...frames: Buffer[]) {
  response.writeHead(200, { 'Content-Type': 'application/connect+json' });
  response.end(Buffer.concat(frames));
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that answers at once: what is left of a measurement against it is the client's own cost. */
export interface StubServer extends AsyncDisposable {
  url: string;
}

const SANDBOX = {
  templateID: 'base',
  sandboxID: 'istub000000000000000a',
  clientID: 'stub',
  envdVersion: '0.6.13',
  envdAccessToken: 'stub',
  alias: 'base',
  domain: null,
};

export async function startStubServer(): Promise<StubServer> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(request, response));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A start event of process 1 and the end of a program with exit status 0, in either codec. */
const ANSWERS = {
  json: Buffer.concat([
    frame(0, { event: { start: { pid: 1 } } }),
    frame(0, { event: { end: { exited: true, status: 'exit status 0' } } }),
    frame(2, {}),
  ]),
  proto: Buffer.concat([
    frame(0, Buffer.from('0a040a020801', 'hex')),
    frame(0, Buffer.from('0a131a1110011a0d65786974207374617475732030', 'hex')),
    frame(2, {}),
  ]),
};

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = request.url ?? '';
  if (url.endsWith('/process.Process/Start')) {
    // In the codec of the request: the SDK speaks the binary one, the programs that it is compared with speak JSON.
    const type = request.headers['content-type'] ?? '';
    response.writeHead(200, { 'content-type': type });
    response.end(type.endsWith('proto') ? ANSWERS.proto : ANSWERS.json);
    return;
  }
  if (request.method === 'POST' && url.endsWith('/sandboxes')) json(response, 201, SANDBOX);
  else if (request.method === 'DELETE') response.writeHead(204).end();
  else json(response, 200, url.includes('/sandboxes') ? [] : {});
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** One frame of the Connect protocol: flags, big-endian length, and the message, in JSON unless it is bytes. */
export function frame(flags: number, message: Uint8Array | object): Buffer {
  const payload = message instanceof Uint8Array ? message : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

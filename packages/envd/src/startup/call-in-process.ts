import type { Server } from 'node:http';
import { Duplex } from 'node:stream';
import { encodeEnvelope } from '@connectrpc/connect/protocol';

export interface InProcessCall {
  method: 'GET' | 'POST';
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array;
}

/** Sends a request through a server's HTTP layer without a socket. Gives the whole answer, head and body. */
export function callInProcess(server: Server, call: InProcessCall): Promise<Buffer> {
  const { method, path, headers = {}, body = new Uint8Array(0) } = call;
  const fields = {
    Host: 'localhost',
    Connection: 'close',
    'Content-Length': String(body.length),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = new Duplex({
      read() {},
      write(part: Buffer, _, done) {
        parts.push(part);
        done();
      },
      final(done) {
        done();
        socket.destroy();
      },
    });
    // Any outcome is fine: the caller checks the answer.
    socket.on('error', () => {});
    socket.once('close', () => resolve(Buffer.concat(parts)));
    server.emit('connection', socket);
    socket.push(Buffer.concat([head, body]));
  });
}

/** A call of a streaming procedure with its messages in JSON. */
export function streamingCall(
  procedure: string,
  messages: readonly unknown[],
  headers: Readonly<Record<string, string>> = {},
): InProcessCall {
  const body = Buffer.concat(
    messages.map((message) => encodeEnvelope(0, Buffer.from(JSON.stringify(message)))),
  );
  return call(procedure, 'application/connect+json', body, headers);
}

/** A call of a unary procedure with its message in JSON. */
export function unaryCall(procedure: string, message: unknown): InProcessCall {
  return call(procedure, 'application/json', Buffer.from(JSON.stringify(message)));
}

function call(
  procedure: string,
  type: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): InProcessCall {
  return {
    method: 'POST',
    path: `/${procedure}`,
    headers: { 'Content-Type': type, 'Connect-Protocol-Version': '1', 'X-Access-Token': TOKEN, ...headers },
    body,
  };
}

/** The token that these calls carry; apps that serve nobody else are given it. */
export const TOKEN = 'in-process';

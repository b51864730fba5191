import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { connect as connectHttp2, createSecureServer, type Http2SecureServer } from 'node:http2';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { connect as connectTls, type TLSSocket, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { EgressAuthority } from '../../src/control/types.js';
import { LeafCertificates } from '../../src/intercept/leaf-certificates.js';

/** A server of the internet, for HTTP/2 and HTTP/1.1, with certificates of an authority for every name. */
export async function startWeb(authority: EgressAuthority, listener: RequestListener, { http2 = true } = {}) {
  const leaves = new LeafCertificates(authority);
  const options: TlsOptions = {
    SNICallback: (name, done) => {
      leaves.contextFor(name).then(
        (context) => done(null, context),
        (error) => done(error),
      );
    },
  };
  const server = http2
    ? createSecureServer({ ...options, allowHTTP1: true }, listener as never)
    : createHttpsServer(options, listener);
  return { server, port: await listening(server) };
}

export async function startPlainWeb(listener: RequestListener) {
  const server = createHttpServer(listener);
  return { server, port: await listening(server) };
}

async function listening(server: Server | HttpsServer | Http2SecureServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('sessionError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

/** TLS from the sandbox's side. */
export function clientTls(
  socket: Socket,
  host: string,
  ca: string,
  protocols: string[] = ['http/1.1'],
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secured = connectTls({ socket, servername: host, ca, ALPNProtocols: protocols });
    secured.once('secureConnect', () => {
      secured.off('error', reject);
      secured.on('error', () => undefined);
      resolve(secured);
    });
    secured.once('error', reject);
    secured.once('close', () => reject(new Error('closed')));
  });
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends a request as it stands, over HTTP/1.1, and reads one answer with a length. */
export function ask(socket: Socket, text: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [line = '', ...fields] = bytes.subarray(0, end).toString().split('\r\n');
      const headers = Object.fromEntries(
        fields.map((field) => [field.split(': ')[0]!.toLowerCase(), field.slice(field.indexOf(': ') + 2)]),
      );
      const body = bytes.subarray(end + 4).toString();
      const whole =
        headers['content-length'] !== undefined && body.length >= Number(headers['content-length']);
      if (!whole && !body.endsWith('0\r\n\r\n') && headers.upgrade === undefined) return;
      finish();
      resolve({ status: Number(line.split(' ')[1]), headers, body });
    };
    const broken = () => {
      finish();
      reject(new Error(`cut after ${bytes.toString()}`));
    };
    const finish = () => socket.off('data', take).off('close', broken).off('end', broken);
    socket.on('data', take).on('close', broken).on('end', broken);
    socket.write(text);
  });
}

/** One request over HTTP/2. */
export async function askHttp2(
  socket: TLSSocket,
  host: string,
  headers: Record<string, string> = {},
  body?: string,
) {
  const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  const stream = session.request({ ':path': '/', ':authority': host, ...headers });
  stream.end(body);
  const answer = await new Promise<Record<string, unknown>>((resolve, reject) => {
    stream.once('response', resolve as never);
    stream.once('error', reject);
    session.once('error', reject);
  });
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return { status: answer[':status'], headers: answer, body: Buffer.concat(parts).toString(), session };
}

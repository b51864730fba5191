import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { EgressAuthority } from '../../src/control/types.js';
import { LeafCertificates } from '../../src/intercept/leaf-certificates.js';
import { startServer } from './egress.js';

export interface SocksProxy {
  port: number;
  /** The requested addresses: `host:port`. */
  asked: string[];
}

/** A SOCKS5 proxy that leads everything to one port of loopback. */
export async function startSocks(
  target: number,
  options: { user?: string; password?: string; authority?: EgressAuthority; reply?: number } = {},
): Promise<SocksProxy> {
  const asked: string[] = [];
  const serve = (socket: Socket) => {
    let bytes = Buffer.alloc(0);
    let wake = () => {};
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      wake();
    });
    const read = async (size: number) => {
      while (bytes.length < size)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const part = bytes.subarray(0, size);
      bytes = bytes.subarray(size);
      return part;
    };
    const negotiate = async () => {
      const methods = await read((await read(2))[1]!);
      if (options.user === undefined) socket.write(Buffer.from([5, 0]));
      else {
        if (!methods.includes(2)) return socket.end(Buffer.from([5, 0xff]));
        socket.write(Buffer.from([5, 2]));
        const user = (await read((await read(2))[1]!)).toString();
        const password = (await read((await read(1))[0]!)).toString();
        const right = user === options.user && password === options.password;
        // A byte at a time.
        socket.write(Buffer.from([1]));
        socket.write(Buffer.from([right ? 0 : 1]));
        if (!right) return socket.end();
      }
      const [, , , type] = await read(4);
      const host = type === 3 ? (await read((await read(1))[0]!)).toString() : [...(await read(4))].join('.');
      asked.push(`${host}:${(await read(2)).readUInt16BE(0)}`);
      socket.write(Buffer.from([5, options.reply ?? 0, 0, 1, 0, 0, 0, 0, 0, 0]));
      if ((options.reply ?? 0) !== 0) return socket.end();
      socket.removeAllListeners('data');
      const upstream = connect(target, '127.0.0.1');
      upstream.on('error', () => socket.destroy());
      socket.once('close', () => upstream.destroy());
      socket.pipe(upstream).pipe(socket);
    };
    void negotiate();
  };
  if (options.authority === undefined) return { asked, port: (await startServer(serve)).port };
  const leaves = new LeafCertificates(options.authority);
  const server = createTlsServer(
    { SNICallback: (name, done) => void leaves.contextFor(name).then((context) => done(null, context)) },
    serve,
  );
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { asked, port: (server.address() as { port: number }).port };
}
